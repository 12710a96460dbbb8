"""Adapters for agents: each turns an AgentCall into AgentEvents and a CallResult.

The names below are the public API for an executor of your own; they are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostler.lazy import lazy_names

if TYPE_CHECKING:
    from ostler.config.settings import ExecutorSettings
    from ostler.executors.protocol import Capabilities, Executor
    from ostler.executors.registry import ExecutorRegistry
    from ostler.model.call import AgentCall, AgentEvent, CallResult
    from ostler.process.protocol import CommandRunner

__all__ = [
    "AgentCall",
    "AgentEvent",
    "CallResult",
    "Capabilities",
    "CommandRunner",
    "Executor",
    "ExecutorRegistry",
    "ExecutorSettings",
]

__getattr__, __dir__ = lazy_names(
    "ostler.executors",
    {
        "AgentCall": "ostler.model.call",
        "AgentEvent": "ostler.model.call",
        "CallResult": "ostler.model.call",
        "Capabilities": "ostler.executors.protocol",
        "CommandRunner": "ostler.process.protocol",
        "Executor": "ostler.executors.protocol",
        "ExecutorRegistry": "ostler.executors.registry",
        "ExecutorSettings": "ostler.config.settings",
    },
)
