"""Whether a silent agent is at work, waits for a person, or hangs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from ostler.clock import Clock
from ostler.model.call import AgentEvent, RetrySeen
from ostler.model.command import Patience, Silence, StopNow, Stopped
from ostler.worker.questions import question_in
from ostler.worker.signs import Sampler, Signs, sample_signs

BUSY_SHARE = 0.05  # of one core; an agent that waits for its provider takes less
_LOOKS = 4  # within one idle timeout
_SOON = 0.01
_SAMPLE_SECONDS = 5.0  # a directory on a server that is gone tells nothing


class Signals(Struct, frozen=True):
    """When each sign of life was last seen; all by one monotonic clock."""

    heard_at: float
    worked_at: float = 0.0  # its processes took CPU time
    wrote_at: float = 0.0  # something in the workspace changed
    waits_until: float = 0.0  # the agent said that it waits for its provider
    question: str = ""  # the end of its output, when that asks a person something


class Alive(Struct, frozen=True):
    """Something goes on."""


class Quiet(Struct, frozen=True):
    """No sign of life for half of the time that is allowed."""

    since: float


class Hung(Struct, frozen=True):
    """No sign of life for all of it."""

    since: float


class NeedsInput(Struct, frozen=True):
    """It waits for a person."""

    why: str


Judgement = Alive | Quiet | Hung | NeedsInput
OnQuiet = Callable[[float], None]
"""Told once in a spell of silence, with its length in seconds so far."""


def last_sign(signals: Signals, now: float) -> float:
    """When it was last alive; now, while it waits for its provider."""
    waited = min(signals.waits_until, now)
    return max(signals.heard_at, signals.worked_at, signals.wrote_at, waited)


def judge(signals: Signals, now: float, idle_timeout: float) -> Judgement:
    """What the signals say, from output that is never a proof of death alone."""
    since = last_sign(signals, now)
    quiet = now - since
    if quiet < idle_timeout / 2:
        return Alive()
    if signals.question:
        return NeedsInput(signals.question)
    return Quiet(since) if quiet < idle_timeout else Hung(since)


class Liveness:
    """The vigil over one attempt: sees signs of life where the output shows none."""

    def __init__(
        self,
        idle_timeout_seconds: float,
        clock: Clock,
        on_quiet: OnQuiet | None = None,
        sample: Sampler = sample_signs,
    ) -> None:
        self.first_look_seconds = idle_timeout_seconds / _LOOKS
        self._idle_timeout = idle_timeout_seconds
        self._clock = clock
        self._on_quiet = on_quiet
        self._sample = sample
        self._signals = Signals(clock.monotonic())
        self._signs: Signs | None = None  # as they were at the last look
        self._looked_at = 0.0
        self._told = False

    def hear(self, event: AgentEvent) -> None:
        """Take note of what the agent says: that it waits for its provider, or no longer does."""
        delay = event.delay_seconds if isinstance(event, RetrySeen) else 0.0
        self._signals = replace(self._signals, waits_until=self._clock.monotonic() + delay)

    async def look(self, silence: Silence) -> Patience | StopNow:
        """Whether the agent may go on in silence, and when to look again."""
        signs = await self._signs_of(silence)
        now = self._clock.monotonic()
        self._compare(signs, now, now - silence.seconds)
        asked = question_in(silence.stderr_tail) or question_in(silence.stdout_tail)
        self._signals = replace(self._signals, question=asked)
        judgement = judge(self._signals, now, self._idle_timeout)
        self._tell(judgement, now)
        return self._answer(judgement, now)

    async def _signs_of(self, silence: Silence) -> Signs | None:
        try:
            async with asyncio.timeout(_SAMPLE_SECONDS):
                return await asyncio.to_thread(self._sample, silence.pid, silence.cwd)
        except TimeoutError:
            return None

    def _compare(self, signs: Signs | None, now: float, heard_at: float) -> None:
        """What happened since the last look; one from before the last output says nothing of this silence."""
        self._signals = replace(self._signals, heard_at=heard_at)
        before, looked_at = self._signs, self._looked_at
        self._signs, self._looked_at = signs, now
        if before is None or signs is None or looked_at < heard_at:
            return
        if signs.cpu_seconds - before.cpu_seconds >= BUSY_SHARE * (now - looked_at):
            self._signals = replace(self._signals, worked_at=now)
        if signs.writes != before.writes and signs.writes and before.writes:
            self._signals = replace(self._signals, wrote_at=now)

    def _tell(self, judgement: Judgement, now: float) -> None:
        if isinstance(judgement, Quiet) and self._on_quiet and not self._told:
            self._on_quiet(now - judgement.since)
        self._told = not isinstance(judgement, Alive)

    def _answer(self, judgement: Judgement, now: float) -> Patience | StopNow:
        match judgement:
            case Alive() | Quiet():
                left = last_sign(self._signals, now) + self._idle_timeout - now
                return Patience(max(_SOON, min(self.first_look_seconds, left)))
            case NeedsInput(why=why):
                return StopNow(Stopped.NEEDS_INPUT, why)
            case Hung(since=since):
                return StopNow(Stopped.IDLE, f"no output, work or written file for {now - since:.0f} s")
            case _:
                assert_never(judgement)
