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
    from ostler.llm.anthropic import AnthropicClaudeClient
    from ostler.llm.client import (
        DEFAULT_MODEL_MAP,
        ClaudeClient,
        ClaudeClientConfig,
        ClaudeRequest,
        ClaudeResponse,
    )
    from ostler.llm.patience import cancellable_sleep
    from ostler.model.outcome import Outcome
    from ostler.model.task import Task
    from ostler.process.spawner import create_spawner
    from ostler.project.agent_executor import AgentExecutor
    from ostler.project.execution import (
        ExecutionError,
        ExecutionErrorCode,
        ExecutionResult,
        ExecutionStatus,
        WorkspaceError,
    )
    from ostler.project.executor_config import AgentConfig, ExecutorConfig, create_default_config
    from ostler.project.ostler import Ostler
    from ostler.prompt.document import build_prompt
    from ostler.prompt.skill import SkillContent, load_skill_content
    from ostler.worker.cli_executor import CliExecutor
    from ostler.worker.selector import ModelSelector
    from ostler.worker.slots import WorkerPool

__all__ = [
    "DEFAULT_MODEL_MAP",
    "AgentConfig",
    "AgentExecutor",
    "AnthropicClaudeClient",
    "ClaudeClient",
    "ClaudeClientConfig",
    "ClaudeRequest",
    "ClaudeResponse",
    "CliExecutor",
    "Code",
    "ExecutionError",
    "ExecutionErrorCode",
    "ExecutionResult",
    "ExecutionStatus",
    "Executor",
    "ExecutorConfig",
    "ExecutorRegistry",
    "ModelSelector",
    "Ostler",
    "OstlerError",
    "Outcome",
    "SkillContent",
    "Task",
    "WorkerPool",
    "WorkspaceError",
    "__version__",
    "build_prompt",
    "cancellable_sleep",
    "create_default_config",
    "create_spawner",
    "load_skill_content",
]

_HOMES = {
    "DEFAULT_MODEL_MAP": "ostler.llm.client",
    "AgentConfig": "ostler.project.executor_config",
    "AgentExecutor": "ostler.project.agent_executor",
    "AnthropicClaudeClient": "ostler.llm.anthropic",
    "ClaudeClient": "ostler.llm.client",
    "ClaudeClientConfig": "ostler.llm.client",
    "ClaudeRequest": "ostler.llm.client",
    "ClaudeResponse": "ostler.llm.client",
    "CliExecutor": "ostler.worker.cli_executor",
    "Code": "ostler.errors",
    "ExecutionError": "ostler.project.execution",
    "ExecutionErrorCode": "ostler.project.execution",
    "ExecutionResult": "ostler.project.execution",
    "ExecutionStatus": "ostler.project.execution",
    "Executor": "ostler.executors.protocol",
    "ExecutorConfig": "ostler.project.executor_config",
    "ExecutorRegistry": "ostler.executors.registry",
    "ModelSelector": "ostler.worker.selector",
    "Ostler": "ostler.project.ostler",
    "OstlerError": "ostler.errors",
    "Outcome": "ostler.model.outcome",
    "SkillContent": "ostler.prompt.skill",
    "Task": "ostler.model.task",
    "WorkerPool": "ostler.worker.slots",
    "WorkspaceError": "ostler.project.execution",
    "build_prompt": "ostler.prompt.document",
    "cancellable_sleep": "ostler.llm.patience",
    "create_default_config": "ostler.project.executor_config",
    "create_spawner": "ostler.process.spawner",
    "load_skill_content": "ostler.prompt.skill",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'ostler' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)
