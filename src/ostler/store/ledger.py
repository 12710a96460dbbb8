"""The ledger that all calls of a store share: limits, cooldowns, turns of models, and retries per hour."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from ostler.errors import Code
from ostler.model.limits.limit import Admission, Cooldown, Limit
from ostler.model.limits.window import Window


class Ledger(Protocol):
    """Shared by every task and process of a store. A write that returned is durable.

    A caller that may probe a model and dies blocks the others for a minute at most.
    """

    # Limits

    def close_window(self, window: Window, until: float, code: Code, message: str, now: float) -> None:
        """Stop all calls on this window; a closed window can only be closed for longer."""
        ...

    def open_circuit(
        self, window: Window, code: Code, message: str, now: float, first: float, longest: float
    ) -> float:
        """Stop all calls on this window until the next probe, and return its time.

        The delay is `first` seconds and doubles with each failed probe, up to `longest`.
        """
        ...

    def make_due(self, codes: Collection[Code], now: float) -> None:
        """Let the next call probe the windows that were closed with one of these codes."""
        ...

    def take_report(self, window: Window) -> bool:
        """Return True for the first caller since the window was closed: it reports that to the person."""
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

    def count_retries(self, now: float) -> int:
        """Return the number of retries in the last hour."""
        ...

    # Turns

    def take_turn(self, models: Sequence[str], after: str) -> None:
        """Let round-robin continue with the model after this one."""
        ...

    def next_turn(self, models: Sequence[str]) -> int:
        """Return the index of the model that round-robin uses next."""
        ...

    def reset_turns(self) -> None:
        """Let round-robin begin with the first model of every pool."""
        ...

    def close(self) -> None:
        """Close the store; closing twice is allowed."""
        ...
