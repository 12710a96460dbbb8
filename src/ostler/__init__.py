"""Ostler runs AI agents on tasks, unattended, and never loses one.

The public names are loaded on first use, so that `import ostler` stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ostler.errors import Code, OstlerError
    from ostler.executors.protocol import Executor
    from ostler.executors.registry import ExecutorRegistry
    from ostler.model.outcome import Outcome
    from ostler.model.task import Task
    from ostler.process.spawner import create_spawner
    from ostler.project.ostler import Ostler
    from ostler.worker.cli_executor import CliExecutor
    from ostler.worker.selector import ModelSelector
    from ostler.worker.slots import WorkerPool

__all__ = [
    "CliExecutor",
    "Code",
    "Executor",
    "ExecutorRegistry",
    "ModelSelector",
    "Ostler",
    "OstlerError",
    "Outcome",
    "Task",
    "WorkerPool",
    "__version__",
    "create_spawner",
]

_HOMES = {
    "Code": "ostler.errors",
    "OstlerError": "ostler.errors",
    "Outcome": "ostler.model.outcome",
    "Task": "ostler.model.task",
    "Ostler": "ostler.project.ostler",
    "Executor": "ostler.executors.protocol",
    "ExecutorRegistry": "ostler.executors.registry",
    "CliExecutor": "ostler.worker.cli_executor",
    "ModelSelector": "ostler.worker.selector",
    "WorkerPool": "ostler.worker.slots",
    "create_spawner": "ostler.process.spawner",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'ostler' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)
