"""The windows of a provider during an attempt: first and last use, and a reset in between."""

from __future__ import annotations

from ostler.calls.attempts.window_changes import WindowChanges
from ostler.model.call import LimitReported, TextReceived
from ostler.model.limits.window import ReportedWindow
from ostler.model.limits.window_change import WindowChange

RESET = 1_790_000_000.0


def test_the_first_and_the_last_report_count() -> None:
    """Other events change nothing; a reset time that differs by seconds is the same reset."""
    changes = WindowChanges()
    for used in (0.1, 0.2, 0.4):
        week = ReportedWindow("seven_day", used / 10, RESET + 9)
        changes.on_event(LimitReported((ReportedWindow("five_hour", used, RESET + used), week)))
        changes.on_event(TextReceived("x"))
    assert changes.collect((ReportedWindow("five_hour", 0.9, RESET),)) == (
        WindowChange("five_hour", 0.1, 0.4, RESET + 0.4, 3),
        WindowChange("seven_day", 0.01, 0.04, RESET + 9, 3),
    )


def test_after_a_reset_it_starts_again() -> None:
    """The use before the reset is gone; a window without a use is left out."""
    changes = WindowChanges()
    changes.on_event(LimitReported((ReportedWindow("five_hour", 0.9, RESET),)))
    changes.on_event(LimitReported((ReportedWindow("five_hour", 0.05, RESET + 18_000),)))
    changes.on_event(LimitReported((ReportedWindow("requests", None, RESET),)))
    assert changes.collect() == (WindowChange("five_hour", 0.05, 0.05, RESET + 18_000),)


def test_windows_of_the_result() -> None:
    """Executors without events report them once, with the result."""
    assert WindowChanges().collect((ReportedWindow("day", 0.3),)) == (WindowChange("day", 0.3, 0.3),)
