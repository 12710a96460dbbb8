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
    from ostler.compat.claude_client import AnthropicClaudeClient
    from ostler.compat.marketing import (
        SKILL_SQUAD_MAP,
        AgentMeta,
        Frontmatter,
        MockClaudeClient,
        SquadMap,
        WorkspaceManager,
        cancellable_sleep,
        load_skill_meta,
        parse_frontmatter,
    )
    from ostler.compat.orc import (
        PhaseCompletion,
        build_retry_context,
        build_template_vars,
        check_phase_completion,
        save_retry_context_file,
        setup_worktree,
    )
    from ostler.compat.orc_events import EventPublisher
    from ostler.compat.orc_executor import (
        FullExecutor,
        GateDecision,
        PhaseExecutor,
        PhaseResult,
        StandardExecutor,
        TrivialExecutor,
        executor_for_weight,
    )
    from ostler.executors.claude.executor import ClaudeExecutor
    from ostler.executors.cursor import CursorExecutor
    from ostler.executors.protocol import Executor, supports_resumption
    from ostler.executors.registry import ExecutorRegistry
    from ostler.llm.client import (
        DEFAULT_MODEL_MAP,
        ClaudeClient,
        ClaudeClientConfig,
        ClaudeRequest,
        ClaudeResponse,
        StopReason,
    )
    from ostler.llm.failure import ModelError
    from ostler.model.status import TaskStatus
    from ostler.model.task import Input, Output
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
        TokensUsed,
        WorkspaceError,
    )
    from ostler.prompt.document import DocumentPrompt, UpstreamOutput, build_prompt
    from ostler.prompt.retry import Retry
    from ostler.prompt.role import Agent, load_prompt
    from ostler.prompt.template import render_template
    from ostler.skills.content import SkillContent, load_skill_content
    from ostler.skills.references import Reference
    from ostler.testing.mocks import MockCommandRunner, MockExecutor

__all__ = [
    "DEFAULT_MODEL_MAP",
    "SKILL_SQUAD_MAP",
    "Agent",
    "AgentConfig",
    "AgentExecutor",
    "AgentMeta",
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
    "DocumentPrompt",
    "EventPublisher",
    "ExecutionError",
    "ExecutionErrorCode",
    "ExecutionResult",
    "ExecutionStatus",
    "Executor",
    "ExecutorConfig",
    "ExecutorRegistry",
    "Frontmatter",
    "FullExecutor",
    "GateDecision",
    "Input",
    "MockClaudeClient",
    "MockCommandRunner",
    "MockExecutor",
    "ModelError",
    "ModelSelector",
    "Output",
    "PhaseCompletion",
    "PhaseExecutor",
    "PhaseResult",
    "PrePromptEvent",
    "PtySpawner",
    "Reference",
    "Retry",
    "SkillContent",
    "SquadMap",
    "StandardExecutor",
    "StandardSpawner",
    "StopReason",
    "TaskStatus",
    "TokensUsed",
    "TrivialExecutor",
    "UpstreamOutput",
    "WorkerPool",
    "WorkspaceError",
    "WorkspaceManager",
    "build_prompt",
    "build_retry_context",
    "build_template_vars",
    "calculate_backoff_delay",
    "cancellable_sleep",
    "check_phase_completion",
    "create_default_config",
    "create_spawner",
    "executor_for_weight",
    "get_available_memory_mb",
    "load_prompt",
    "load_skill_content",
    "load_skill_meta",
    "parse_frontmatter",
    "render_template",
    "save_retry_context_file",
    "setup_worktree",
    "supports_resumption",
]

__getattr__, __dir__ = lazy_names(
    "ostler.compat",
    {
        "DEFAULT_MODEL_MAP": "ostler.llm.client",
        "SKILL_SQUAD_MAP": "ostler.compat.marketing",
        "Agent": "ostler.prompt.role",
        "AgentConfig": "ostler.project.agents.executor_config",
        "AgentExecutor": "ostler.project.agents.agent_executor",
        "AgentMeta": "ostler.compat.marketing",
        "AnthropicClaudeClient": "ostler.compat.claude_client",
        "ClaudeClient": "ostler.llm.client",
        "ClaudeClientConfig": "ostler.llm.client",
        "ClaudeExecutor": "ostler.executors.claude.executor",
        "ClaudeRequest": "ostler.llm.client",
        "ClaudeResponse": "ostler.llm.client",
        "CliExecutor": "ostler.calls.cli_executor",
        "CommandRunner": "ostler.process.protocol",
        "CursorExecutor": "ostler.executors.cursor",
        "DefaultCommandRunner": "ostler.process.runner",
        "DocumentPrompt": "ostler.prompt.document",
        "EventPublisher": "ostler.compat.orc_events",
        "ExecutionError": "ostler.project.execution",
        "ExecutionErrorCode": "ostler.project.execution",
        "ExecutionResult": "ostler.project.execution",
        "ExecutionStatus": "ostler.project.execution",
        "Executor": "ostler.executors.protocol",
        "ExecutorConfig": "ostler.project.agents.executor_config",
        "ExecutorRegistry": "ostler.executors.registry",
        "Frontmatter": "ostler.compat.marketing",
        "FullExecutor": "ostler.compat.orc_executor",
        "GateDecision": "ostler.compat.orc_executor",
        "Input": "ostler.model.task",
        "MockClaudeClient": "ostler.compat.marketing",
        "MockCommandRunner": "ostler.testing.mocks",
        "MockExecutor": "ostler.testing.mocks",
        "ModelError": "ostler.llm.failure",
        "ModelSelector": "ostler.calls.models.selector",
        "Output": "ostler.model.task",
        "PhaseCompletion": "ostler.compat.orc",
        "PhaseExecutor": "ostler.compat.orc_executor",
        "PhaseResult": "ostler.compat.orc_executor",
        "PrePromptEvent": "ostler.calls.debugger",
        "PtySpawner": "ostler.process.terminal",
        "Reference": "ostler.skills.references",
        "Retry": "ostler.prompt.retry",
        "SkillContent": "ostler.skills.content",
        "SquadMap": "ostler.compat.marketing",
        "StandardExecutor": "ostler.compat.orc_executor",
        "StandardSpawner": "ostler.process.spawner",
        "StopReason": "ostler.llm.client",
        "TaskStatus": "ostler.model.status",
        "TokensUsed": "ostler.project.execution",
        "TrivialExecutor": "ostler.compat.orc_executor",
        "UpstreamOutput": "ostler.prompt.document",
        "WorkerPool": "ostler.calls.models.slots",
        "WorkspaceError": "ostler.project.execution",
        "WorkspaceManager": "ostler.compat.marketing",
        "build_prompt": "ostler.prompt.document",
        "build_retry_context": "ostler.compat.orc",
        "build_template_vars": "ostler.compat.orc",
        "calculate_backoff_delay": "ostler.calls.models.retry",
        "cancellable_sleep": "ostler.compat.marketing",
        "check_phase_completion": "ostler.compat.orc",
        "create_default_config": "ostler.project.agents.executor_config",
        "create_spawner": "ostler.process.spawner",
        "executor_for_weight": "ostler.compat.orc_executor",
        "get_available_memory_mb": "ostler.calls.host",
        "load_prompt": "ostler.prompt.role",
        "load_skill_content": "ostler.skills.content",
        "load_skill_meta": "ostler.compat.marketing",
        "parse_frontmatter": "ostler.compat.marketing",
        "render_template": "ostler.prompt.template",
        "save_retry_context_file": "ostler.compat.orc",
        "setup_worktree": "ostler.compat.orc",
        "supports_resumption": "ostler.executors.protocol",
    },
)
