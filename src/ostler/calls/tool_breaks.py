"""Stops an agent at a tool call while its debugger asks what to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ostler.awaiting import await_if_needed
from ostler.calls.attempts.progress import CallProgress
from ostler.calls.attempts.running import KillRequest, RunningAttempts
from ostler.calls.debugger import Debugger, KillAttempt, PromptData, ToolCallEvent, ToolDebugger
from ostler.clock import Clock
from ostler.model.call import AgentEvent, OnEvent, ToolUsed
from ostler.model.policy.model_config import ModelConfig


class ToolBreaks:
    """Asks the debugger of one attempt at its tool calls."""

    def __init__(
        self, debugger: Debugger | None, running: RunningAttempts, clock: Clock, progress: CallProgress
    ) -> None:
        self._debugger = debugger if isinstance(debugger, ToolDebugger) else None
        self._running, self._clock = running, clock
        self._task, self._number = progress.request.task, progress.next_number
        self._phase, self._iteration = progress.request.phase, progress.request.iteration
        self._asking: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def watch(self, model: ModelConfig) -> AsyncGenerator[OnEvent]:
        """Yield a receiver of the agent's events; open questions are dropped when the attempt ends."""
        data = PromptData(model.name, model.executor, model.model, self._phase, self._iteration, self._number)

        def on_event(event: AgentEvent) -> None:
            if isinstance(event, ToolUsed) and self._debugger:
                self._check(self._debugger, event, data)

        try:
            yield on_event
        finally:
            for question in self._asking:
                question.cancel()

    def _check(self, debugger: ToolDebugger, used: ToolUsed, data: PromptData) -> None:
        event = ToolCallEvent(self._task, self._clock.now(), used.tool, used.detail, data)
        if debugger.breaks_at(event):
            self._running.hold(self._task, self._number)
            self._asking.add(asyncio.create_task(self._ask(debugger, event)))

    async def _ask(self, debugger: ToolDebugger, event: ToolCallEvent) -> None:
        try:
            await await_if_needed(debugger.tool_call(event))
        except KillAttempt:
            self._running.kill(self._task, self._number, KillRequest("the debugger"))
        finally:
            self._asking = {one for one in self._asking if one is not asyncio.current_task()}
            if not self._asking:
                self._running.release(self._task, self._number)
