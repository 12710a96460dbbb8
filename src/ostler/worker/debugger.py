"""A debugger sees each prompt before it is sent, may put another in its place, and may stop the run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import isawaitable
from typing import Literal, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.ids import TaskId


class PromptData(Struct, frozen=True):
    """Where the prompt goes."""

    model: str  # as the settings name it
    executor: str
    model_id: str = ""  # as the provider names it; empty: the agent's own default
    phase: str = ""
    iteration: int = 0
    attempt: int = 0
    prompt_file: str = ""  # where it is written down


class PrePromptEvent(Struct, frozen=True):
    """An agent is about to be started with this prompt."""

    task_id: TaskId
    timestamp: float
    prompt: str
    data: PromptData
    type: Literal["PRE_PROMPT"] = "PRE_PROMPT"


class StopRun(Exception):
    """Raised by a debugger: nothing more is started, and every task stays resumable."""


class Debugger(Protocol):
    """Asked before each start of an agent, which waits for the answer."""

    async def pre_prompt(self, event: PrePromptEvent) -> str | None:
        """The prompt to send instead, for this attempt and those after it; None: as it is."""
        ...


class EventDebugger(Protocol):
    """The older shape: told by `emit`, and asked for the changed prompt afterwards. Both may be async."""

    def emit(self, event: PrePromptEvent) -> object: ...

    def get_and_clear_modified_prompt(self) -> object: ...


class Emitting:
    """A debugger of the older shape, asked as one of ours."""

    def __init__(self, told: EventDebugger) -> None:
        self._told = told

    async def pre_prompt(self, event: PrePromptEvent) -> str | None:
        await _settled(self._told.emit(event))
        return cast("str | None", await _settled(self._told.get_and_clear_modified_prompt()))


class Stopping:
    """A debugger whose StopRun stops the run that it belongs to."""

    def __init__(self, debugger: Debugger, stop: Callable[[], None]) -> None:
        self._debugger, self._stop = debugger, stop

    async def pre_prompt(self, event: PrePromptEvent) -> str | None:
        try:
            return await self._debugger.pre_prompt(event)
        except StopRun:
            self._stop()
            await asyncio.Event().wait()  # until the stop reaches us as a cancellation
            raise


class Steering:
    """The prompt of one call, as a debugger leaves it; made anew for each call."""

    def __init__(self, debugger: Debugger | None) -> None:
        self._debugger = debugger
        self._chosen: str | None = None
        self.edited_from: str | None = None  # what was shown, where the debugger has just changed it

    @property
    def asks(self) -> bool:
        return self._debugger is not None

    def shown(self, prompt: str) -> str:
        """What the debugger is shown for this prompt: its own, where it chose one before."""
        return prompt if self._chosen is None else self._chosen

    async def prompt_for(self, event: PrePromptEvent) -> str:
        """What to send: the prompt of the event, or what the debugger has put in its place, now or before."""
        if self._debugger is None:
            return event.prompt
        shown, self.edited_from = self.shown(event.prompt), None
        changed = await self._debugger.pre_prompt(replace(event, prompt=shown))
        if changed is not None and changed != shown:
            self._chosen, self.edited_from = changed, shown
        return self.shown(event.prompt)


def as_debugger(given: Debugger | EventDebugger) -> Debugger:
    """Either shape as a Debugger."""
    return cast(Debugger, given) if hasattr(given, "pre_prompt") else Emitting(cast(EventDebugger, given))


async def _settled(answer: object) -> object:
    return await answer if isawaitable(answer) else answer
