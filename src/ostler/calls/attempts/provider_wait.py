"""Decides when an agent that waits for its provider is ended, so that its slot is free."""

from __future__ import annotations

from ostler.errors import Code
from ostler.model.call import (
    AgentEvent,
    RetryReported,
    TextReceived,
    ToolDenied,
    ToolReturned,
    ToolUsed,
    UsageReported,
)

# Other failures are short: the agent gets an answer soon, and may be silent while the model thinks.
_LIMITS = (Code.RATE_LIMITED, Code.QUOTA_EXCEEDED)
_ANSWERS = (TextReceived, ToolUsed, ToolDenied, ToolReturned, UsageReported)


class ProviderWait:
    """The wait of one agent for its provider; every time is passed in, by the same monotonic clock."""

    def __init__(self, max_seconds: float, quiet_seconds: float) -> None:
        self._max_seconds = max_seconds  # from the first retry to the end of the last wait
        self.quiet_seconds = quiet_seconds  # without activity, after the announced wait
        self.until = 0.0  # end of the announced wait
        self._since: float | None = None  # of the first retry; None: the provider answers
        self._code = Code.UNKNOWN

    @property
    def is_active(self) -> bool:
        """Whether the agent reported a retry and the provider did not answer since then."""
        return self._since is not None

    @property
    def bounds_silence(self) -> bool:
        """Whether silence ends the agent before the idle timeout: its last retry follows a limit."""
        return self.is_active and self._code in _LIMITS

    def on_event(self, event: AgentEvent, now: float) -> None:
        """Record the start, the extension or the end of the wait."""
        if isinstance(event, RetryReported):
            # An agent can stream an answer for minutes without an event: that is another wait.
            if self._since is None or now - self.until > self._max_seconds:
                self._since = now
            self._code = event.code
            self.until = now + event.delay_seconds
        elif isinstance(event, _ANSWERS):
            self._since = None
            self.until = min(self.until, now)

    def find_excess(self) -> str:
        """Return why the wait is longer than the call may wait; empty if it is not."""
        if self._since is None or self.until - self._since <= self._max_seconds:
            return ""
        wait = f"it waits {self.until - self._since:.0f} s for its provider ({self._code})"
        return f"{wait}; retry.max_delay_seconds allows {self._max_seconds:.0f} s"

    def find_silence(self, last_activity: float, now: float) -> str:
        """Return why the silence after a limit is too long; empty if it is not."""
        if not self.bounds_silence or now < self.quiet_at(last_activity):
            return ""
        quiet = now - max(last_activity, self.until)
        return f"no output for {quiet:.0f} s after it reported a retry ({self._code})"

    def quiet_at(self, last_activity: float) -> float:
        """Return when the silence is too long, if nothing happens until then."""
        return max(last_activity, self.until) + self.quiet_seconds
