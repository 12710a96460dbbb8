"""The attempts that run in this process; each can be killed by its number."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

from msgspec import Struct

from ostler.calls.attempts.liveness import LivenessMonitor
from ostler.calls.turns import take_turns
from ostler.errors import Code
from ostler.model.attempt import Attempt
from ostler.model.call import CallResult
from ostler.model.command import Supervision
from ostler.model.ids import TaskId
from ostler.model.usage import Usage
from ostler.process.child import KILL_NOW
from ostler.process.sweep import SharedSweep, signal_marked_processes


class KillRequest(Struct, frozen=True):
    """A request to end one attempt."""

    by: str = ""  # who made it
    now: bool = False  # without a grace period

    @property
    def message(self) -> str:
        """How the attempt ended, for its record and for the next prompt."""
        return f"killed by {self.by}" if self.by else "killed by a person"

    def create_result(
        self, session_id: str, usage: Usage, session_usage: Usage, seconds: float
    ) -> CallResult:
        """Return the result of the killed attempt; its session, if it had started, can be resumed."""
        return CallResult(
            Code.AGENT_KILLED,
            self.message,
            session_id=session_id,
            usage=usage,
            session_usage=session_usage if usage != Usage() else None,
            duration_seconds=seconds,
            is_stopped=True,
        )


class _Running:
    def __init__(
        self, attempt: Attempt, work: asyncio.Task[CallResult], marker: str, supervision: Supervision | None
    ) -> None:
        self.attempt, self.work, self.caller = attempt, work, asyncio.current_task()
        self.marker, self.supervision = marker, supervision
        self.request: KillRequest | None = None

    @property
    def is_call_cancelled(self) -> bool:
        """Whether the whole call is cancelled, not only this attempt."""
        return self.caller is not None and self.caller.cancelling() > 0


class RunningAttempts:
    """Runs attempts and keeps them by task and number; shared by all calls of a run."""

    def __init__(self) -> None:
        self._running: dict[tuple[TaskId, int], _Running] = {}
        self.sweep = SharedSweep()  # kills what earlier attempts left

    def list(self) -> list[Attempt]:
        """Return the attempts that run now, in the order of their starts."""
        return [one.attempt for one in self._running.values()]

    def kill(self, task: TaskId, number: int, request: KillRequest) -> bool:
        """End an attempt: SIGTERM, the grace period, SIGKILL. Return False if it does not run here."""
        running = self._running.get((task, number))
        if running is None:
            return False
        running.request = request
        return running.work.cancel(KILL_NOW if request.now else None)

    def hold(self, task: TaskId, number: int) -> None:
        """Stop the processes of an attempt until `release`; it does not count as idle meanwhile."""
        if (running := self._running.get((task, number))) is not None:
            if isinstance(running.supervision, LivenessMonitor):
                running.supervision.hold()
            signal_marked_processes(running.marker, signal.SIGSTOP)

    def release(self, task: TaskId, number: int) -> None:
        """Let the processes of an attempt continue."""
        if (running := self._running.get((task, number))) is not None:
            signal_marked_processes(running.marker, signal.SIGCONT)
            if isinstance(running.supervision, LivenessMonitor):
                running.supervision.release()

    def find_kill(self, attempt: Attempt) -> KillRequest | None:
        """Return the request that cancelled this attempt; None if its whole call is cancelled."""
        running = self._running.get((attempt.task, attempt.number))
        return None if running is None or running.is_call_cancelled else running.request

    async def run(
        self,
        attempt: Attempt,
        work: Coroutine[Any, Any, CallResult],
        marker: str = "",
        supervision: Supervision | None = None,
    ) -> CallResult:
        """Run the work of an attempt; cancelling this cancels the work and waits for its end."""
        running = _Running(attempt, asyncio.create_task(take_turns(work)), marker, supervision)
        self._running[attempt.task, attempt.number] = running
        try:
            return await running.work
        except asyncio.CancelledError:
            # A kill before the work began: nothing else returns its result.
            if (request := self.find_kill(attempt)) is None:
                raise
            return request.create_result("", Usage(), Usage(), 0.0)
        finally:
            del self._running[attempt.task, attempt.number]
