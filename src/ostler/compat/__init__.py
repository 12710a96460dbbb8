"""The names of the systems that Ostler replaces, imported on first use.

Code that was written for one of them finds its classes and functions here. New code uses `ostler.Ostler` and
`ostler.executors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostler.lazy import lazy_names

if TYPE_CHECKING:
    from ostler.calls.debugger import PrePromptEvent
    from ostler.calls.host import get_available_memory_mb
    from ostler.calls.models.selector import ModelSelector
    from ostler.calls.models.slots import WorkerPool, WorkerPoolManager
    from ostler.compat.loopwork import (
        CliExecutor,
        CliExecutorConfig,
        ILogger,
        IPluginRegistry,
        IProcessManager,
        ISpawnedProcess,
        ModelEntry,
        RetryConfig,
        SpawnOptions,
        calculate_backoff_delay,
    )
    from ostler.compat.sow import (
        Architect,
        ClaudeExecutor,
        CommandRunner,
        CursorExecutor,
        Decomposer,
        DefaultCommandRunner,
        Executor,
        ExecutorError,
        ExecutorRegistry,
        Implementer,
        MockCommandRunner,
        MockExecutor,
        Planner,
        Researcher,
        Reviewer,
        load_prompt,
        new_claude_executor,
        new_claude_executor_with_runner,
        new_cursor_executor,
        new_cursor_executor_with_runner,
        new_executor_registry,
    )
    from ostler.llm.anthropic import AnthropicClaudeClient
    from ostler.llm.client import (
        DEFAULT_MODEL_MAP,
        ClaudeClient,
        ClaudeClientConfig,
        ClaudeRequest,
        ClaudeResponse,
    )
    from ostler.llm.timeouts import cancellable_sleep
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
    from ostler.prompt.role import Agent
    from ostler.prompt.template import render_template
    from ostler.prompt.variables import build_template_vars
    from ostler.skills.content import SkillContent, load_skill_content
    from ostler.store.journal import EventPublisher
    from ostler.testing.mocks import MockClaudeClient

__all__ = [
    "DEFAULT_MODEL_MAP",
    "Agent",
    "AgentConfig",
    "AgentExecutor",
    "AnthropicClaudeClient",
    "Architect",
    "ClaudeClient",
    "ClaudeClientConfig",
    "ClaudeExecutor",
    "ClaudeRequest",
    "ClaudeResponse",
    "CliExecutor",
    "CliExecutorConfig",
    "CommandRunner",
    "CursorExecutor",
    "Decomposer",
    "DefaultCommandRunner",
    "EventPublisher",
    "ExecutionError",
    "ExecutionErrorCode",
    "ExecutionResult",
    "ExecutionStatus",
    "Executor",
    "ExecutorConfig",
    "ExecutorError",
    "ExecutorRegistry",
    "ILogger",
    "IPluginRegistry",
    "IProcessManager",
    "ISpawnedProcess",
    "Implementer",
    "MockClaudeClient",
    "MockCommandRunner",
    "MockExecutor",
    "ModelEntry",
    "ModelSelector",
    "Planner",
    "PrePromptEvent",
    "PtySpawner",
    "Researcher",
    "RetryConfig",
    "Reviewer",
    "SkillContent",
    "SpawnOptions",
    "StandardSpawner",
    "WorkerPool",
    "WorkerPoolManager",
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
    "new_claude_executor",
    "new_claude_executor_with_runner",
    "new_cursor_executor",
    "new_cursor_executor_with_runner",
    "new_executor_registry",
    "render_template",
]

__getattr__, __dir__ = lazy_names(
    "ostler.compat",
    {
        "DEFAULT_MODEL_MAP": "ostler.llm.client",
        "Agent": "ostler.prompt.role",
        "AgentConfig": "ostler.project.agents.executor_config",
        "AgentExecutor": "ostler.project.agents.agent_executor",
        "AnthropicClaudeClient": "ostler.llm.anthropic",
        "Architect": "ostler.compat.sow",
        "ClaudeClient": "ostler.llm.client",
        "ClaudeClientConfig": "ostler.llm.client",
        "ClaudeExecutor": "ostler.compat.sow",
        "ClaudeRequest": "ostler.llm.client",
        "ClaudeResponse": "ostler.llm.client",
        "CliExecutor": "ostler.compat.loopwork",
        "CliExecutorConfig": "ostler.compat.loopwork",
        "CommandRunner": "ostler.compat.sow",
        "CursorExecutor": "ostler.compat.sow",
        "Decomposer": "ostler.compat.sow",
        "DefaultCommandRunner": "ostler.compat.sow",
        "EventPublisher": "ostler.store.journal",
        "ExecutionError": "ostler.project.execution",
        "ExecutionErrorCode": "ostler.project.execution",
        "ExecutionResult": "ostler.project.execution",
        "ExecutionStatus": "ostler.project.execution",
        "Executor": "ostler.compat.sow",
        "ExecutorConfig": "ostler.project.agents.executor_config",
        "ExecutorError": "ostler.compat.sow",
        "ExecutorRegistry": "ostler.compat.sow",
        "ILogger": "ostler.compat.loopwork",
        "IPluginRegistry": "ostler.compat.loopwork",
        "IProcessManager": "ostler.compat.loopwork",
        "ISpawnedProcess": "ostler.compat.loopwork",
        "Implementer": "ostler.compat.sow",
        "MockClaudeClient": "ostler.testing.mocks",
        "MockCommandRunner": "ostler.compat.sow",
        "MockExecutor": "ostler.compat.sow",
        "ModelEntry": "ostler.compat.loopwork",
        "ModelSelector": "ostler.calls.models.selector",
        "Planner": "ostler.compat.sow",
        "PrePromptEvent": "ostler.calls.debugger",
        "PtySpawner": "ostler.process.terminal",
        "Researcher": "ostler.compat.sow",
        "RetryConfig": "ostler.compat.loopwork",
        "Reviewer": "ostler.compat.sow",
        "SkillContent": "ostler.skills.content",
        "SpawnOptions": "ostler.compat.loopwork",
        "StandardSpawner": "ostler.process.spawner",
        "WorkerPool": "ostler.calls.models.slots",
        "WorkerPoolManager": "ostler.calls.models.slots",
        "WorkspaceError": "ostler.project.execution",
        "build_prompt": "ostler.prompt.document",
        "build_template_vars": "ostler.prompt.variables",
        "calculate_backoff_delay": "ostler.compat.loopwork",
        "cancellable_sleep": "ostler.llm.timeouts",
        "check_phase_completion": "ostler.prompt.completion",
        "create_default_config": "ostler.project.agents.executor_config",
        "create_spawner": "ostler.process.spawner",
        "get_available_memory_mb": "ostler.calls.host",
        "load_prompt": "ostler.compat.sow",
        "load_skill_content": "ostler.skills.content",
        "new_claude_executor": "ostler.compat.sow",
        "new_claude_executor_with_runner": "ostler.compat.sow",
        "new_cursor_executor": "ostler.compat.sow",
        "new_cursor_executor_with_runner": "ostler.compat.sow",
        "new_executor_registry": "ostler.compat.sow",
        "render_template": "ostler.prompt.template",
    },
)
