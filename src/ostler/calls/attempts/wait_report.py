"""Records in the feed that an agent waits for its provider."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ostler.calls.attempts.liveness import LivenessMonitor
from ostler.model.call import AgentEvent, RetryReported
from ostler.model.notice import Notice, WaitEnded, WaitStarted

# Real seconds, whatever the clock of the run is: shorter waits are not reported.
UNREPORTED_SECONDS = 1.0


class WaitReport:
    """The waits of one attempt, as its supervision sees them."""

    def __init__(self, monitor: LivenessMonitor, notify: Callable[[Notice], None], name: str) -> None:
        self._monitor = monitor
        self._notify = notify
        self._name = name
        self._timer: asyncio.TimerHandle | None = None
        self._reported = False

    def on_event(self, event: AgentEvent) -> None:
        """Pass the event to the supervision; a wait begins with a retry and ends with an answer."""
        if not (isinstance(event, RetryReported) or self._monitor.waits_for_provider):
            return
        self._monitor.on_event(event)
        if not self._monitor.waits_for_provider:
            self.close()
        elif isinstance(event, RetryReported) and self._timer is None:
            reason = f"{self._name}: {event.code}"
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(UNREPORTED_SECONDS, self._report, reason)

    def close(self) -> None:
        """Record the end of a wait that was reported."""
        if self._timer is not None:
            self._timer.cancel()
        if self._reported:
            self._notify(WaitEnded(self._name))
        self._timer, self._reported = None, False

    def _report(self, reason: str) -> None:
        self._reported = True
        self._notify(WaitStarted(None, reason))
