"""A debugger with breakpoints: it stops before prompts and at tool calls, and asks a handler what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Literal

from msgspec import Struct

from ostler.calls.debugger import DebugEvent, DebugEventType, PrePromptEvent, ToolCallEvent

DebuggerState = Literal["running", "paused", "stepping"]
Handler = Callable[[DebugEvent], Awaitable[str | None]]
"""Called at each stop, which lasts until it returns; it returns the prompt to send instead, or None."""


class Breakpoint(Struct, frozen=True):
    """Where to stop; an empty field matches everything."""

    event: DebugEventType = "PRE_PROMPT"
    task_id: str = ""
    phase: str = ""
    tool: str = ""  # for TOOL_CALL
    condition: Callable[[DebugEvent], bool] | None = None

    def matches(self, event: DebugEvent) -> bool:
        """Return whether to stop at the event."""
        if self.event != event.type or (self.tool and not _is_tool(event, self.tool)):
            return False
        if self.task_id not in ("", event.task_id) or self.phase not in ("", event.data.phase):
            return False
        return self.condition is None or self.condition(event)


class BreakpointDebugger:
    """Stops at breakpoints, at each event while stepping, and at the next event after `pause`.

    Pass it as the debugger of `Ostler` or `CliExecutor`. The handler can call `step`, `resume`, `add` and
    `remove`; it raises StopRun to stop the run, and at a tool call KillAttempt to kill the attempt. While the
    handler of a tool call runs, the agent's processes are stopped; the timeout of the attempt goes on.
    """

    def __init__(self, handle: Handler, breakpoints: Iterable[Breakpoint] = ()) -> None:
        self._handle = handle
        self._breakpoints = list(breakpoints)
        self._state: DebuggerState = "running"
        self._steps = False  # stop at the next event
        self._handling = asyncio.Lock()

    @property
    def state(self) -> DebuggerState:
        """paused: a handler runs; stepping: it stops at the next event; else running."""
        return "stepping" if self._state == "running" and self._steps else self._state

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        return tuple(self._breakpoints)

    def add(self, breakpoint: Breakpoint) -> None:
        """Add a breakpoint; it applies from the next event on."""
        self._breakpoints.append(breakpoint)

    def remove(self, breakpoint: Breakpoint) -> None:
        """Remove a breakpoint; raises ValueError for an unknown one."""
        self._breakpoints.remove(breakpoint)

    def clear(self) -> None:
        """Remove all breakpoints and do not stop any more."""
        self._breakpoints.clear()
        self.resume()

    def pause(self) -> None:
        """Stop at the next event, whatever it is."""
        self._steps = True

    step = pause

    def resume(self) -> None:
        """Run to the next breakpoint."""
        self._steps = False

    def breaks_at(self, event: DebugEvent) -> bool:
        """Return whether to stop at the event; stepping includes tool calls if one has a breakpoint."""
        if any(one.matches(event) for one in self._breakpoints):
            return True
        is_tool = event.type == "TOOL_CALL"
        return self._steps and (not is_tool or any(one.event == event.type for one in self._breakpoints))

    async def pre_prompt(self, event: PrePromptEvent) -> str | None:
        """See Debugger.pre_prompt."""
        return await self._stop_at(event) if self.breaks_at(event) else None

    async def tool_call(self, event: ToolCallEvent) -> None:
        """See ToolDebugger.tool_call."""
        await self._stop_at(event)

    async def _stop_at(self, event: DebugEvent) -> str | None:
        async with self._handling:
            if not self.breaks_at(event):
                return None  # the answer to an earlier stop was to continue
            self._state, self._steps = "paused", False
            try:
                return await self._handle(event)
            finally:
                self._state = "running"


def _is_tool(event: DebugEvent, name: str) -> bool:
    return isinstance(event, ToolCallEvent) and event.tool.casefold() == name.casefold()
