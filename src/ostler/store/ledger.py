"""The ledger that all calls of a store share: limits, cooldowns of models, and retries per hour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ostler.errors import Code
from ostler.model.limit import Admission, Cooldown, Limit, Window


class Ledger(Protocol):
    """Shared by every task and process of a store. A write that returned is durable.

    A caller that may probe a model and dies blocks the others for a minute at most.
    """

    # Limits

    def close_window(self, window: Window, until: float, code: Code, message: str, now: float) -> None:
        """Stop all calls on this window; a closed window can only be closed for longer."""
        ...

    def admit(self, windows: Sequence[Window], caller: str, now: float) -> Admission:
        """Return whether a call may be made; when a limit has ended, one caller gets the Probe.

        The same caller gets it again when it asks again.
        """
        ...

    def reopen(self, window: Window) -> bool:
        """End the limit after a successful probe; return False if it was set again in the meantime."""
        ...

    def limits(self, now: float) -> list[Limit]:
        """Return every window that is closed or waits for its probe."""
        ...

    # Cooldowns

    def record_failure(
        self, model: str, code: Code, message: str, now: float, threshold: int, seconds: float
    ) -> bool:
        """Count a failure; return whether it starts a cooldown: of `seconds`, after `threshold` failures."""
        ...

    def record_success(self, model: str) -> bool:
        """End a cooldown and return True, or subtract one failure and return False."""
        ...

    def check_cooldown(self, model: str, now: float) -> Cooldown | None:
        """Return the model's cooldown, None if it may be used; after a cooldown one caller gets None."""
        ...

    def cooldowns(self, now: float) -> list[Cooldown]:
        """Return every model with recent failures, in cooldown or not."""
        ...

    # Retries

    def take_retry(self, now: float, per_hour: int) -> bool:
        """Take one of the retries per hour; return False when none is left."""
        ...

    def close(self) -> None:
        """Close the store; closing twice is allowed."""
        ...
