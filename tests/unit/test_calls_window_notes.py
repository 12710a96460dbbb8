"""The user's ledger gets the use of windows seldom: each write is a transaction."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ostler.calls.models.window_notes import WindowNotes
from ostler.model.limits.window import ReportedWindow, WindowUse
from ostler.model.policy.model_config import Login, ModelConfig
from ostler.store.accounts.sqlite import SqliteAccounts

NOW = 1_700_000_000.0
SONNET = ModelConfig("sonnet", "claude", "sonnet", login=Login("claude@1", "claude (~/.work)"))


class CountingAccounts(SqliteAccounts):
    """A ledger in memory that counts its transactions."""

    def __init__(self) -> None:
        super().__init__(None)
        self.transactions = 0

    def note_windows(self, uses: Sequence[WindowUse]) -> None:
        self.transactions += 1
        super().note_windows(uses)


def test_many_reports_are_few_transactions() -> None:
    """500 reports in 50 seconds, from 10 to 15 %: one transaction per percent."""
    accounts = CountingAccounts()
    notes = WindowNotes(accounts)
    for number in range(501):
        windows = (
            ReportedWindow("five_hour", 0.1 + number / 10_000, NOW + 9000),
            ReportedWindow("seven_day"),
        )
        notes.note(SONNET, windows, NOW + number / 10)
    assert accounts.transactions == 6
    (five_hour, _) = sorted(accounts.windows(NOW + 60), key=lambda one: one.window.window)
    assert five_hour.reported.used == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("report", "seconds", "is_written"),
    [
        (ReportedWindow("five_hour", 0.5, NOW + 900), 59.0, False),
        (ReportedWindow("five_hour", 0.5, NOW + 900), 60.0, True),
        (ReportedWindow("five_hour", 0.5, NOW + 900), -1.0, True),
        (ReportedWindow("five_hour", 0.509, NOW + 900), 1.0, False),
        (ReportedWindow("five_hour", 0.51, NOW + 900), 1.0, True),
        (ReportedWindow("five_hour", 0.49, NOW + 900), 1.0, True),
        (ReportedWindow("five_hour", None, NOW + 900), 1.0, True),
        (ReportedWindow("five_hour", 0.5, NOW + 901), 1.0, False),
        (ReportedWindow("five_hour", 0.5, NOW + 960), 1.0, True),
        (ReportedWindow("five_hour", 0.5, None), 1.0, True),
        (ReportedWindow("five_hour", 0.5, NOW + 900, "rejected"), 1.0, True),
        (ReportedWindow("seven_day", 0.5, NOW + 900), 1.0, True),
    ],
)
def test_what_is_written(report: ReportedWindow, seconds: float, is_written: bool) -> None:
    """A change of a percent, of the status or of the reset, and each minute."""
    accounts = CountingAccounts()
    notes = WindowNotes(accounts)
    notes.note(SONNET, [ReportedWindow("five_hour", 0.5, NOW + 900)], NOW)
    notes.note(SONNET, [report], NOW + seconds)
    assert accounts.transactions == 1 + is_written


def test_nothing_reported_writes_nothing() -> None:
    accounts = CountingAccounts()
    WindowNotes(accounts).note(SONNET, [], NOW)
    assert accounts.transactions == 0
