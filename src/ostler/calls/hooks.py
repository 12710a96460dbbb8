"""The events of a call that plugins receive. A plugin observes a call and cannot change it.

A plugin is any object with one or more of the methods of `Plugin`. Each plugin runs in its own thread and
receives all events in order; async methods run in an event loop of that thread. A slow plugin delays no call.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Literal, Protocol

from msgspec import Struct

from ostler.errors import Code
from ostler.model.call import AgentEvent, CallResult, TextReceived, ToolDenied, ToolUsed
from ostler.model.ids import TaskId

StepId = Literal[
    "cli_execution_start", "model_selected", "cli_spawn_start", "cli_spawn_end", "cli_execution_end"
]
_OUTPUT_CHARACTERS = 2000


class StepContext(Struct, frozen=True):
    """The attempt of a step; values that are not known yet are empty."""

    phase: str = ""  # of the task
    iteration: int = 0
    attempt: int = 0
    executor: str = ""
    model: str = ""  # as the settings name it
    model_id: str = ""  # as the provider names it
    code: Code | None = None  # of a call or an attempt that failed


class CallStep(Struct, frozen=True):
    """A step of one call: the five ids come in this order, the middle three once for each attempt."""

    step_id: StepId
    task_id: TaskId
    phase: Literal["start", "end"] = "start"
    duration_seconds: float | None = None  # at an end
    context: StepContext = StepContext()


class ToolCall(Struct, frozen=True):
    """The agent uses a tool, or is denied to."""

    task_id: TaskId
    tool_name: str
    detail: str = ""
    denied: bool = False


class AgentResponse(Struct, frozen=True):
    """A text of the agent: a message while it works, or its final text."""

    task_id: TaskId
    model: str
    text: str
    is_partial: bool = True


class CliResult(Struct, frozen=True):
    """The end of one attempt."""

    task_id: TaskId
    executor: str
    model: str
    exit_code: int | None
    duration_seconds: float
    output: str  # the end of the final text
    timed_out: bool
    code: Code | None


class TaskRetry(Struct, frozen=True):
    """Another attempt follows a failed one."""

    task_id: TaskId
    attempt: int  # that failed
    code: Code | None
    message: str
    wait_seconds: float = 0.0
    model: str = ""  # that is tried next


Hook = CallStep | ToolCall | AgentResponse | CliResult | TaskRetry
METHODS: dict[type, str] = {
    CallStep: "on_step",
    ToolCall: "on_tool_call",
    AgentResponse: "on_agent_response",
    CliResult: "on_cli_result",
    TaskRetry: "on_task_retry",
}


class Plugin(Protocol):
    """The attributes of a plugin, all of them optional; methods may be async."""

    name: str  # default: the name of its class
    capabilities: str  # appended to each prompt

    def on_step(self, step: CallStep) -> Awaitable[None] | None: ...
    def on_tool_call(self, call: ToolCall) -> Awaitable[None] | None: ...
    def on_agent_response(self, response: AgentResponse) -> Awaitable[None] | None: ...
    def on_cli_result(self, result: CliResult) -> Awaitable[None] | None: ...
    def on_task_retry(self, retry: TaskRetry) -> Awaitable[None] | None: ...


def create_event_hook(event: AgentEvent, task_id: TaskId, model: str) -> Hook | None:
    """Return the hook of an agent's event; None if plugins do not receive it."""
    match event:
        case TextReceived(text=text):
            return AgentResponse(task_id, model, text)
        case ToolUsed(tool=tool, detail=detail):
            return ToolCall(task_id, tool, detail)
        case ToolDenied(tool=tool, detail=detail):
            return ToolCall(task_id, tool, detail, denied=True)
        case _:
            return None


def create_result_hooks(result: CallResult, task_id: TaskId, executor: str, model: str) -> tuple[Hook, ...]:
    """Return the hooks of an attempt that has ended."""
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
