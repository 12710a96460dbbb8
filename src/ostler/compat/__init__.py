"""The names of the systems that Ostler replaces, imported on first use.

Code that was written for one of them finds its classes and functions here. New code uses `ostler.Ostler` and
`ostler.executors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostler.lazy import lazy_names

if TYPE_CHECKING:
    from ostler.calls.cli_executor import CliExecutor
    from ostler.calls.debugger import PrePromptEvent
    from ostler.calls.host import get_available_memory_mb
    from ostler.calls.models.retry import calculate_backoff_delay
    from ostler.calls.models.selector import ModelSelector
    from ostler.calls.models.slots import WorkerPool
    from ostler.executors.claude.executor import ClaudeExecutor
    from ostler.executors.cursor import CursorExecutor
    from ostler.executors.protocol import Executor, supports_resumption
    from ostler.executors.registry import ExecutorRegistry
    from ostler.llm.anthropic import AnthropicClaudeClient
    from ostler.llm.client import (
        DEFAULT_MODEL_MAP,
        ClaudeClient,
        ClaudeClientConfig,
        ClaudeRequest,
        ClaudeResponse,
    )
    from ostler.llm.timeouts import cancellable_sleep
    from ostler.process.protocol import CommandRunner
    from ostler.process.runner import DefaultCommandRunner
    from ostler.process.spawner import StandardSpawner, create_spawner
    from ostler.process.terminal import PtySpawner
    from ostler.project.agents.agent_executor import AgentExecutor
    from ostler.project.agents.executor_config import AgentConfig, ExecutorConfig, create_default_config
    from ostler.project.execution import (
        ExecutionError,
        ExecutionErrorCode,
        ExecutionResult,
        ExecutionStatus,
        WorkspaceError,
    )
    from ostler.prompt.completion import check_phase_completion
    from ostler.prompt.document import build_prompt
    from ostler.prompt.role import Agent, load_prompt
    from ostler.prompt.template import render_template
    from ostler.prompt.variables import build_template_vars
    from ostler.skills.content import SkillContent, load_skill_content
    from ostler.store.journal import EventPublisher
    from ostler.testing.mocks import MockClaudeClient, MockCommandRunner, MockExecutor

__all__ = [
    "DEFAULT_MODEL_MAP",
    "Agent",
    "AgentConfig",
    "AgentExecutor",
    "AnthropicClaudeClient",
    "ClaudeClient",
    "ClaudeClientConfig",
    "ClaudeExecutor",
    "ClaudeRequest",
    "ClaudeResponse",
    "CliExecutor",
    "CommandRunner",
    "CursorExecutor",
    "DefaultCommandRunner",
    "EventPublisher",
    "ExecutionError",
    "ExecutionErrorCode",
    "ExecutionResult",
    "ExecutionStatus",
    "Executor",
    "ExecutorConfig",
    "ExecutorRegistry",
    "MockClaudeClient",
    "MockCommandRunner",
    "MockExecutor",
    "ModelSelector",
    "PrePromptEvent",
    "PtySpawner",
    "SkillContent",
    "StandardSpawner",
    "WorkerPool",
    "WorkspaceError",
    "build_prompt",
    "build_template_vars",
    "calculate_backoff_delay",
    "cancellable_sleep",
    "check_phase_completion",
    "create_default_config",
    "create_spawner",
    "get_available_memory_mb",
    "load_prompt",
    "load_skill_content",
    "render_template",
    "supports_resumption",
]

__getattr__, __dir__ = lazy_names(
    "ostler.compat",
    {
        "DEFAULT_MODEL_MAP": "ostler.llm.client",
        "Agent": "ostler.prompt.role",
        "AgentConfig": "ostler.project.agents.executor_config",
        "AgentExecutor": "ostler.project.agents.agent_executor",
        "AnthropicClaudeClient": "ostler.llm.anthropic",
        "ClaudeClient": "ostler.llm.client",
        "ClaudeClientConfig": "ostler.llm.client",
        "ClaudeExecutor": "ostler.executors.claude.executor",
        "ClaudeRequest": "ostler.llm.client",
        "ClaudeResponse": "ostler.llm.client",
        "CliExecutor": "ostler.calls.cli_executor",
        "CommandRunner": "ostler.process.protocol",
        "CursorExecutor": "ostler.executors.cursor",
        "DefaultCommandRunner": "ostler.process.runner",
        "EventPublisher": "ostler.store.journal",
        "ExecutionError": "ostler.project.execution",
        "ExecutionErrorCode": "ostler.project.execution",
        "ExecutionResult": "ostler.project.execution",
        "ExecutionStatus": "ostler.project.execution",
        "Executor": "ostler.executors.protocol",
        "ExecutorConfig": "ostler.project.agents.executor_config",
        "ExecutorRegistry": "ostler.executors.registry",
        "MockClaudeClient": "ostler.testing.mocks",
        "MockCommandRunner": "ostler.testing.mocks",
        "MockExecutor": "ostler.testing.mocks",
        "ModelSelector": "ostler.calls.models.selector",
        "PrePromptEvent": "ostler.calls.debugger",
        "PtySpawner": "ostler.process.terminal",
        "SkillContent": "ostler.skills.content",
        "StandardSpawner": "ostler.process.spawner",
        "WorkerPool": "ostler.calls.models.slots",
        "WorkspaceError": "ostler.project.execution",
        "build_prompt": "ostler.prompt.document",
        "build_template_vars": "ostler.prompt.variables",
        "calculate_backoff_delay": "ostler.calls.models.retry",
        "cancellable_sleep": "ostler.llm.timeouts",
        "check_phase_completion": "ostler.prompt.completion",
        "create_default_config": "ostler.project.agents.executor_config",
        "create_spawner": "ostler.process.spawner",
        "get_available_memory_mb": "ostler.calls.host",
        "load_prompt": "ostler.prompt.role",
        "load_skill_content": "ostler.skills.content",
        "render_template": "ostler.prompt.template",
        "supports_resumption": "ostler.executors.protocol",
    },
)
