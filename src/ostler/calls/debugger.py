"""A debugger receives each prompt before it is sent; it can replace the prompt and stop the run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol, TypeVar, cast, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from ostler.awaiting import await_if_needed
from ostler.errors import UsageError
from ostler.model.ids import TaskId

_T = TypeVar("_T")
_E = TypeVar("_E")
_EVENT_METHODS = ("emit", "get_and_clear_modified_prompt")


class PromptData(Struct, frozen=True):
    """The attempt that a prompt belongs to."""

    model: str  # as the settings name it
    executor: str
    model_id: str = ""  # as the provider names it; empty: the agent's own default
    phase: str = ""
    iteration: int = 0
    attempt: int = 0
    prompt_file: str = ""  # a file with the prompt


class PrePromptEvent(Struct, frozen=True):
    """An agent is about to be started with this prompt."""

    task_id: TaskId
    timestamp: float
    prompt: str
    data: PromptData
    type: Literal["PRE_PROMPT"] = "PRE_PROMPT"


class ToolCallEvent(Struct, frozen=True):
    """An agent announced that it calls a tool."""

    task_id: TaskId
    timestamp: float
    tool: str
    detail: str  # its main argument, in one line
    data: PromptData
    type: Literal["TOOL_CALL"] = "TOOL_CALL"


DebugEvent = PrePromptEvent | ToolCallEvent
DebugEventType = Literal["PRE_PROMPT", "TOOL_CALL"]


class StopRun(Exception):
    """Raised by a debugger to stop the run; every task can be resumed later."""


class KillAttempt(Exception):
    """Raised by a debugger at a tool call to kill the attempt; the call is retried as after any failure."""


class Debugger(Protocol):
    """Called before each start of an agent, which waits for the result."""

    async def pre_prompt(self, event: PrePromptEvent) -> str | None:
        """Return the prompt to send instead, now and in later attempts of the call; None: no change."""
        ...


@runtime_checkable
class ToolDebugger(Debugger, Protocol):
    """A debugger that can also stop an agent at a tool call."""

    def breaks_at(self, event: DebugEvent) -> bool:
        """Return whether to stop at the event."""
        ...

    async def tool_call(self, event: ToolCallEvent) -> None:
        """Return when the agent may continue; until then its processes are stopped."""
        ...


class EventDebugger(Protocol):
    """The older interface: receives the event, then returns the changed prompt. Both methods may be async."""

    def emit(self, event: PrePromptEvent) -> object: ...

    def get_and_clear_modified_prompt(self) -> object: ...


class EventDebuggerAdapter:
    """Makes a Debugger of an EventDebugger."""

    def __init__(self, debugger: EventDebugger) -> None:
        self._debugger = debugger

    async def pre_prompt(self, event: PrePromptEvent) -> str | None:
        await await_if_needed(self._debugger.emit(event))
        return cast("str | None", await await_if_needed(self._debugger.get_and_clear_modified_prompt()))


class StoppingDebugger:
    """Stops the run when its debugger raises StopRun."""

    def __init__(self, debugger: Debugger, stop: Callable[[], None]) -> None:
        self._debugger, self._stop = debugger, stop

    async def pre_prompt(self, event: PrePromptEvent) -> str | None:
        return await self._call(self._debugger.pre_prompt, event)

    def breaks_at(self, event: DebugEvent) -> bool:
        return isinstance(self._debugger, ToolDebugger) and self._debugger.breaks_at(event)

    async def tool_call(self, event: ToolCallEvent) -> None:
        if isinstance(self._debugger, ToolDebugger):
            await self._call(self._debugger.tool_call, event)

    async def _call(self, method: Callable[[_E], Awaitable[_T]], event: _E) -> _T:
        try:
            return cast(_T, await await_if_needed(method(event)))
        except StopRun:
            self._stop()
            # The stop cancels this call.
            await asyncio.Event().wait()
            raise


class PromptOverride:
    """The prompt of one call as its debugger changed it; created for each call."""

    def __init__(self, debugger: Debugger | None) -> None:
        self._debugger = debugger
        self._replacement: str | None = None
        self.edited_from: str | None = None  # the prompt that the debugger has just replaced

    @property
    def has_debugger(self) -> bool:
        return self._debugger is not None

    def apply(self, prompt: str) -> str:
        """Return the debugger's earlier replacement, or the prompt if there is none."""
        return prompt if self._replacement is None else self._replacement

    async def ask(self, event: PrePromptEvent) -> str:
        """Return the prompt to send: that of the event, or the debugger's replacement, new or earlier."""
        if self._debugger is None:
            return event.prompt
        shown, self.edited_from = self.apply(event.prompt), None
        changed = await await_if_needed(self._debugger.pre_prompt(replace(event, prompt=shown)))
        if changed is not None and not isinstance(changed, str):
            raise UsageError(f"debugger: expected a prompt as text, or None, got {changed!r}")
        if changed is not None and changed != shown:
            self._replacement, self.edited_from = changed, shown
        return self.apply(event.prompt)


def adapt_debugger(debugger: Debugger | EventDebugger) -> Debugger:
    """Return a Debugger for either interface. Raises UsageError for another object."""
    if callable(getattr(debugger, "pre_prompt", None)):
        return cast(Debugger, debugger)
    if not all(callable(getattr(debugger, name, None)) for name in _EVENT_METHODS):
        names = " and ".join(_EVENT_METHODS)
        raise UsageError(f"debugger: expected an object with pre_prompt, or with {names}, got {debugger!r}")
    return EventDebuggerAdapter(cast(EventDebugger, debugger))
