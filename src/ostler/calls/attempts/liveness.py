"""Decides whether a silent agent is working, waits for its provider or a person, or hangs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.attempts.liveness_signals import ActivitySample, Sampler, find_input_prompt, sample_activity
from ostler.calls.attempts.provider_wait import ProviderWait
from ostler.clock import Clock
from ostler.model.call import AgentEvent
from ostler.model.command import ExtendIdleTimeout, IdleTimeout, StopNow, StopReason

BUSY_SHARE = 0.05  # of one core; an agent that waits for its provider uses less
_CHECKS_PER_TIMEOUT = 4
_MIN_SECONDS = 0.01
_SAMPLE_SECONDS = 5.0  # a directory on an unreachable server can block


class LivenessSignals(Struct, frozen=True):
    """When each kind of activity was last seen, all by the same monotonic clock."""

    output_at: float
    cpu_at: float = 0.0  # its processes used CPU time
    write_at: float = 0.0  # a file in the workspace changed
    waits_until: float = 0.0  # the agent reported that it waits for its provider
    input_prompt: str = ""  # the end of its output, if that asks a person for input


class Alive(Struct, frozen=True):
    """There was activity."""


class Idle(Struct, frozen=True):
    """There was no activity for half of the idle timeout."""

    since: float


class Hung(Struct, frozen=True):
    """There was no activity for the whole idle timeout."""

    since: float


class NeedsInput(Struct, frozen=True):
    """The agent waits for a person."""

    prompt: str


LivenessState = Alive | Idle | Hung | NeedsInput
OnIdle = Callable[[float], None]
"""Called once per idle period, with its length in seconds so far."""


def last_activity(signals: LivenessSignals, now: float) -> float:
    """Return the time of the last activity; now, while the agent waits for its provider."""
    waited = min(signals.waits_until, now)
    return max(signals.output_at, signals.cpu_at, signals.write_at, waited)


def classify(signals: LivenessSignals, now: float, idle_timeout: float) -> LivenessState:
    """Return the state that the signals show; missing output alone does not mean that an agent hangs."""
    since = last_activity(signals, now)
    idle = now - since
    if idle < idle_timeout / 2:
        return Alive()
    if signals.input_prompt:
        return NeedsInput(signals.input_prompt)
    return Idle(since) if idle < idle_timeout else Hung(since)


class LivenessMonitor:
    """Supervises one attempt: detects activity that the output does not show."""

    def __init__(
        self,
        idle_timeout_seconds: float,
        clock: Clock,
        on_idle: OnIdle | None = None,
        sample: Sampler = sample_activity,
        provider_wait: ProviderWait | None = None,
    ) -> None:
        self._check_seconds = idle_timeout_seconds / _CHECKS_PER_TIMEOUT
        self._provider_wait = provider_wait or ProviderWait(math.inf, math.inf)
        self._idle_timeout = idle_timeout_seconds
        self._clock = clock
        self._on_idle = on_idle
        self._sample = sample
        self._signals = LivenessSignals(clock.monotonic())
        self._last_sample: ActivitySample | None = None
        self._sampled_at = 0.0
        self._idle_reported = False
        self._held = False

    @property
    def first_check_seconds(self) -> float:
        """See Supervision.first_check_seconds."""
        wait = self._provider_wait
        if not wait.bounds_silence:
            return self._check_seconds
        return min(self._check_seconds, wait.quiet_seconds / _CHECKS_PER_TIMEOUT)

    @property
    def waits_for_provider(self) -> bool:
        """Whether the agent reported a retry and its provider did not answer since then."""
        return self._provider_wait.is_active

    def on_event(self, event: AgentEvent) -> None:
        """Record whether the agent waits for its provider."""
        self._provider_wait.on_event(event, self._clock.monotonic())
        self._signals = replace(self._signals, waits_until=self._provider_wait.until)

    def hold(self) -> None:
        """Do not count the time until `release`: a debugger has stopped the agent."""
        self._held = True

    def release(self) -> None:
        """Count the time from now on."""
        self._held, self._signals = False, replace(self._signals, cpu_at=self._clock.monotonic())

    def check_output(self) -> StopNow | None:
        """Return whether an agent that waits for its provider is ended at once."""
        excess = self._provider_wait.find_excess()
        return StopNow(StopReason.PROVIDER, excess) if excess else None

    async def check_idle(self, idle: IdleTimeout) -> ExtendIdleTimeout | StopNow:
        """Return whether a silent agent may continue, and when to check again."""
        if self._held:
            return ExtendIdleTimeout(self.first_check_seconds)
        sample = await self._take_sample(idle)
        now = self._clock.monotonic()
        self._compare(sample, now, now - idle.seconds)
        input_prompt = find_input_prompt(idle.stderr_tail) or find_input_prompt(idle.stdout_tail)
        self._signals = replace(self._signals, input_prompt=input_prompt)
        state = classify(self._signals, now, self._idle_timeout)
        self._report_idle(state, now)
        silence = self._provider_wait.find_silence(self._last_sign(), now)
        if silence and not isinstance(state, NeedsInput):
            return StopNow(StopReason.PROVIDER, silence)
        return self._decide(state, now)

    def _last_sign(self) -> float:
        signals = self._signals
        return max(signals.output_at, signals.cpu_at, signals.write_at)

    async def _take_sample(self, idle: IdleTimeout) -> ActivitySample | None:
        try:
            async with asyncio.timeout(_SAMPLE_SECONDS):
                return await asyncio.to_thread(self._sample, idle.pid, idle.cwd)
        except TimeoutError:
            return None

    def _compare(self, sample: ActivitySample | None, now: float, output_at: float) -> None:
        """Record the activity since the last sample, unless there was output after that sample."""
        self._signals = replace(self._signals, output_at=output_at)
        before, sampled_at = self._last_sample, self._sampled_at
        self._last_sample, self._sampled_at = sample, now
        if before is None or sample is None or sampled_at < output_at:
            return
        if sample.cpu_seconds - before.cpu_seconds >= BUSY_SHARE * (now - sampled_at):
            self._signals = replace(self._signals, cpu_at=now)
        if sample.writes != before.writes and sample.writes and before.writes:
            self._signals = replace(self._signals, write_at=now)

    def _report_idle(self, state: LivenessState, now: float) -> None:
        if isinstance(state, Idle) and self._on_idle and not self._idle_reported:
            self._on_idle(now - state.since)
        self._idle_reported = not isinstance(state, Alive)

    def _decide(self, state: LivenessState, now: float) -> ExtendIdleTimeout | StopNow:
        match state:
            case Alive() | Idle():
                left = last_activity(self._signals, now) + self._idle_timeout - now
                if self._provider_wait.bounds_silence:
                    left = min(left, self._provider_wait.quiet_at(self._last_sign()) - now)
                return ExtendIdleTimeout(max(_MIN_SECONDS, min(self.first_check_seconds, left)))
            case NeedsInput(prompt=prompt):
                return StopNow(StopReason.NEEDS_INPUT, prompt)
            case Hung(since=since):
                return StopNow(StopReason.IDLE, f"no output, CPU use or file change for {now - since:.0f} s")
            case _:
                assert_never(state)
