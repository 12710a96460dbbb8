"""What a plugin can see of a call. It looks on; what it does or fails to do changes nothing.

A plugin is any object with one or more of the methods of `Plugin`. Each runs in a thread of its own and hears
everything in order, its async methods in an event loop of that thread: one that is slow keeps nobody waiting.
"""

from __future__ import annotations

import asyncio
import builtins
import logging
import time
from collections.abc import Awaitable
from typing import Literal, Protocol

from msgspec import Struct

from ostler.errors import Code, UsageError
from ostler.model.call import AgentEvent, CallResult, TextSaid, ToolDenied, ToolUsed
from ostler.model.ids import TaskId
from ostler.worker.delivery import Delivery

StepId = Literal[
    "cli_execution_start", "model_selected", "cli_spawn_start", "cli_spawn_end", "cli_execution_end"
]
LIMIT_SECONDS = 5.0  # for one method, once
DRAIN_SECONDS = 2.0  # at the end of a run, for what was not yet told
_OUTPUT_CHARACTERS = 2000


class Context(Struct, frozen=True):
    """Where in the work a step is taken; what is not yet known is empty."""

    phase: str = ""  # of the task
    iteration: int = 0
    attempt: int = 0
    executor: str = ""
    model: str = ""  # as the settings name it
    model_id: str = ""  # as the provider names it
    code: Code | None = None  # of a call or an attempt that did not go well


class Step(Struct, frozen=True):
    """A step of one call: its five ids come in this order, the middle three once for each attempt."""

    step_id: StepId
    task_id: TaskId
    phase: Literal["start", "end"] = "start"
    duration_seconds: float | None = None  # at an end
    context: Context = Context()


class ToolCall(Struct, frozen=True):
    """The agent uses a tool, or is not allowed to."""

    task_id: TaskId
    tool_name: str
    detail: str = ""
    denied: bool = False


class AgentResponse(Struct, frozen=True):
    """What the agent says: messages as they come, and its final text."""

    task_id: TaskId
    model: str
    text: str
    is_partial: bool = True


class CliResult(Struct, frozen=True):
    """How one attempt ended."""

    task_id: TaskId
    executor: str
    model: str
    exit_code: int | None
    duration_seconds: float
    output: str  # the end of the final text
    timed_out: bool
    code: Code | None


class TaskRetry(Struct, frozen=True):
    """The call goes on after a failure."""

    task_id: TaskId
    attempt: int  # that failed
    code: Code | None
    message: str
    wait_seconds: float = 0.0
    model: str = ""  # that is tried next


Hook = Step | ToolCall | AgentResponse | CliResult | TaskRetry
METHODS: dict[type, str] = {
    Step: "on_step",
    ToolCall: "on_tool_call",
    AgentResponse: "on_agent_response",
    CliResult: "on_cli_result",
    TaskRetry: "on_task_retry",
}


class Plugin(Protocol):
    """All that a plugin may have. Nothing of it is required; methods may be async."""

    name: str  # without it, the name of its class
    capabilities: str  # told to the agent, at the end of each prompt

    def on_step(self, step: Step) -> Awaitable[None] | None: ...
    def on_tool_call(self, call: ToolCall) -> Awaitable[None] | None: ...
    def on_agent_response(self, response: AgentResponse) -> Awaitable[None] | None: ...
    def on_cli_result(self, result: CliResult) -> Awaitable[None] | None: ...
    def on_task_retry(self, retry: TaskRetry) -> Awaitable[None] | None: ...


class PluginRegistry:
    """The plugins of one run."""

    def __init__(self, logger: logging.Logger | None = None, limit_seconds: float = LIMIT_SECONDS) -> None:
        self._logger = logger or logging.getLogger(__name__)
        self._limit = limit_seconds
        self._plugins: dict[str, Delivery] = {}
        self._capabilities: dict[str, str] = {}

    def register(self, plugin: object, name: str = "") -> None:
        """Add a plugin; raises UsageError for a name that is taken and for what is no plugin."""
        name = name or str(getattr(plugin, "name", "") or type(plugin).__name__)
        if name in self._plugins:
            raise UsageError(f"plugin {name} is already registered", "load it once, or give one another name")
        methods = {kind: getattr(plugin, method, None) for kind, method in METHODS.items()}
        able = {kind: method for kind, method in methods.items() if callable(method)}
        capabilities = getattr(plugin, "capabilities", "")
        if not isinstance(capabilities, str) or not (able or capabilities):
            known = ", ".join(METHODS.values())
            raise UsageError(f"plugin {name} has none of {known}, nor a text named capabilities")
        self._plugins[name] = Delivery(name, able, self._logger, self._limit)
        self._capabilities[name] = capabilities.strip()

    def list(self) -> builtins.list[str]:
        """The names, in the order of registration."""
        return [*self._plugins]

    @property
    def disabled(self) -> builtins.list[str]:
        """The names of those that failed too often."""
        return [name for name, delivery in self._plugins.items() if delivery.disabled]

    def tell(self, hook: Hook) -> None:
        """Let every plugin know; never waits, never raises."""
        for delivery in self._plugins.values():
            delivery.offer(hook)

    def with_capabilities(self, prompt: str) -> str:
        """The prompt, followed by what the plugins have to say to the agent."""
        told = [text for name, text in self._capabilities.items() if text and name not in self.disabled]
        return "\n\n".join((prompt.rstrip(), "# Plugin Capabilities", *told)) + "\n" if told else prompt

    async def close(self, seconds: float = DRAIN_SECONDS) -> None:
        """Let the plugins hear what they have not heard yet, for a moment at most."""
        until = time.monotonic() + seconds
        for delivery in self._plugins.values():
            await asyncio.to_thread(delivery.close, max(0.0, until - time.monotonic()))


def hook_of_event(event: AgentEvent, task_id: TaskId, model: str) -> Hook | None:
    """What plugins are told of something that the agent says; None for what is not theirs."""
    match event:
        case TextSaid(text=text):
            return AgentResponse(task_id, model, text)
        case ToolUsed(tool=tool, detail=detail):
            return ToolCall(task_id, tool, detail)
        case ToolDenied(tool=tool, detail=detail):
            return ToolCall(task_id, tool, detail, denied=True)
        case _:
            return None


def hooks_of_result(result: CallResult, task_id: TaskId, executor: str, model: str) -> tuple[Hook, ...]:
    """What plugins are told when an attempt has ended."""
    ended = CliResult(
        task_id=task_id,
        executor=executor,
        model=model,
        exit_code=result.exit_code,
        duration_seconds=result.duration_seconds,
        output=result.text[-_OUTPUT_CHARACTERS:],
        timed_out=result.code in (Code.TIMEOUT, Code.IDLE_TIMEOUT),
        code=result.code,
    )
    return AgentResponse(task_id, model, result.text, is_partial=False), ended
