"""Records the windows that agents report in the user's ledger, and seldom: each write is a transaction."""

from __future__ import annotations

from collections.abc import Sequence

from ostler.model.limits.rejection import reported_window
from ostler.model.limits.titles import label_of
from ostler.model.limits.window import ReportedWindow, Window, WindowUse
from ostler.model.policy.model_config import ModelConfig
from ostler.store.accounts.ledger import AccountLedger

_CHANGE = 0.01  # of the used share
_RESET_SECONDS = 60.0  # agents that report the time left give a slightly different reset each time
_MAX_AGE_SECONDS = 60.0


class WindowNotes:
    """The last noted use of each window in this process."""

    def __init__(self, accounts: AccountLedger) -> None:
        self._accounts = accounts
        self._noted: dict[Window, WindowUse] = {}

    def note(self, model: ModelConfig, windows: Sequence[ReportedWindow], now: float) -> None:
        """Record the use of the windows of the model's account that has changed or was noted long ago."""
        label = label_of(model)
        uses = [WindowUse(reported_window(model, one), one, now, label) for one in windows]
        changed = [use for use in uses if _has_changed(self._noted.get(use.window), use)]
        if changed:
            self._accounts.note_windows(changed)
            self._noted.update({use.window: use for use in changed})


def _has_changed(known: WindowUse | None, use: WindowUse) -> bool:
    if known is None or not 0.0 <= use.noted_at - known.noted_at < _MAX_AGE_SECONDS:
        return True
    before, after = known.reported, use.reported
    return (
        before.status != after.status
        or _differs(before.used, after.used, _CHANGE)
        or _differs(before.resets_at, after.resets_at, _RESET_SECONDS)
    )


def _differs(before: float | None, after: float | None, least: float) -> bool:
    if before is None or after is None:
        return before is not after
    # A difference of exactly `least` counts in spite of rounding.
    return abs(after - before) >= least * 0.999
