"""The ledger of accounts: closed windows, who may probe them, and how much of each window is used."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from ostler.errors import Code
from ostler.model.limits.limit import Admission, Limit
from ostler.model.limits.window import Window, WindowUse


class AccountLedger(Protocol):
    """Shared by all projects and processes of a user.

    A caller that may probe a window and dies blocks the others for a minute at most.
    """

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

    def release_probe(self, windows: Sequence[Window], caller: str) -> None:
        """Give back the Probe of a caller that got no answer; a window closed since then stays closed."""
        ...

    def reopen(self, window: Window) -> bool:
        """End the limit after a successful probe; return False if it was set again in the meantime.

        A use of the window that is recorded as rejected is deleted.
        """
        ...

    def end_limits(self, window: Window) -> None:
        """End every limit that blocks this window, as `reopen` does: a call has just succeeded."""
        ...

    def limits(self, now: float) -> list[Limit]:
        """Return every window that is closed or waits for its probe, but not one that ended long ago."""
        ...

    def note_windows(self, uses: Sequence[WindowUse]) -> None:
        """Record how much of each window is used; an older report changes nothing."""
        ...

    def windows(self, now: float) -> list[WindowUse]:
        """Return the last known use of every window; use before a reset that has passed is left out."""
        ...

    def forget(self, account: str) -> bool:
        """Delete everything about an account (`account_id`); return False if nothing is recorded."""
        ...

    def close(self) -> None:
        """Close the ledger; closing twice is allowed."""
        ...
