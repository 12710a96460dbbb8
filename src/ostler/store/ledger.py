"""The ledger that all calls of a project share: cooldowns, turns of models, and retries per hour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ostler.errors import Code
from ostler.model.limits.limit import Cooldown


class Ledger(Protocol):
    """Shared by every task and process of a project. A write that returned is durable.

    A caller that may try a model after its cooldown and dies blocks the others for a minute at most.
    """

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

    def take_retry_report(self, now: float) -> bool:
        """Return True for the first caller within an hour: it reports that the retries are used."""
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
