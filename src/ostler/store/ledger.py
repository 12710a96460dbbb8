"""What all calls of a store must know of each other: closed windows, resting choices, repeats used up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ostler.errors import Code
from ostler.model.limit import Admission, Limit, Rest, Window


class Ledger(Protocol):
    """Shared by every task and process of a store. A write that returned is durable.

    Whoever is to try something, and is never heard of again, blocks the others for a minute at most.
    """

    # Limits

    def close_window(self, window: Window, until: float, code: Code, message: str, now: float) -> None:
        """Stop calls on this window for everyone; one that is closed can only be closed for longer."""
        ...

    def admit(self, windows: Sequence[Window], who: str, now: float) -> Admission:
        """Ask before every call: when a closed window is due, one caller of all gets the Probe.

        Asking again, the same caller keeps it.
        """
        ...

    def reopen(self, window: Window) -> bool:
        """The probe was answered. False, and nothing is changed, when the window was closed anew since."""
        ...

    def limits(self, now: float) -> list[Limit]:
        """Every window that is closed, or waits for its probe."""
        ...

    # Choices

    def fail(self, choice: str, code: Code, message: str, now: float, threshold: int, seconds: float) -> bool:
        """Count a failure; True when the choice begins to rest with it: for `seconds`, after `threshold`."""
        ...

    def succeed(self, choice: str) -> bool:
        """Count a success: it ends a rest, which is True, and outweighs one failure otherwise."""
        ...

    def rest(self, choice: str, now: float) -> Rest | None:
        """Ask before every call: None lets the caller go on; past a rest that is one caller of all."""
        ...

    def rests(self, now: float) -> list[Rest]:
        """Every choice that failed lately, resting or not."""
        ...

    # Repeats

    def spend_repeat(self, now: float, per_hour: int) -> bool:
        """Take one of the hour's repeats; False when all are used up."""
        ...

    def close(self) -> None:
        """Let go of the store; closing twice is fine."""
        ...
