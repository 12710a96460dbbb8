"""The screen of ostler limits: aligned, in any width, with and without UTF-8 and colours."""

from __future__ import annotations

import pytest

from limits_world import HOUR, window_use
from ostler.cli.terminal.limits_screen import NOTHING_KNOWN, Style, format_limits
from ostler.cli.terminal.run.bar import draw_bar
from ostler.cli.terminal.text import display_width, format_span
from ostler.errors import Code
from ostler.model.limits.limit import Limit
from ostler.model.limits.window import Window
from ostler.views.limits import LimitsView, view_limits

NOW = 1_763_250_000.0
WINDOWS = (
    window_use("five_hour", 0.93, NOW, status="warning"),
    window_use("seven_day", 0.31, NOW, resets_in=99 * HOUR, source="file"),
    window_use("seven_day_opus", 1.04, NOW, resets_in=99 * HOUR, status="rejected", family="opus"),
    window_use("overage", None, NOW, resets_in=None),
)
CLOSED = Limit(
    Window("claude", "", "opus", "seven_day_opus"),
    NOW + 99 * HOUR,
    Code.QUOTA_EXCEEDED,
    "You've hit your Opus limit",
    NOW,
)


def shown(style: Style, stop_at: float | None = 0.95) -> str:
    return format_limits(view_limits((CLOSED,), WINDOWS, NOW, stop_at=stop_at), NOW, style)


def test_bars_and_details_are_aligned() -> None:
    """One line per window: use, reset, remaining time, source and age."""
    lines = shown(Style(140)).splitlines()
    bars = [line for line in lines if "▕" in line]
    assert len(bars) == 3
    assert {line.index("▕") for line in bars} == {15}
    assert {line.index("%") for line in bars} == {46}
    assert "in 2 h" in bars[0] and bars[0].endswith("agent event, 3 min ago")
    assert "in 4 d 3 h" in bars[1] and bars[1].endswith("session file, 3 min ago")
    assert "rejected, resets" in bars[2] and "104 %" in bars[2]
    assert any("closed: weekly opus; probe at" in line and "QUOTA_EXCEEDED" in line for line in lines)
    assert lines[-1].startswith("│ 95 %: from here no further task starts")


@pytest.mark.parametrize("columns", [30, 40, 60, 80, 120])
@pytest.mark.parametrize("is_ascii", [False, True])
def test_no_line_is_wider_than_the_terminal(columns: int, is_ascii: bool) -> None:
    """The details move below the bar; no word is lost."""
    text = shown(Style(columns, is_ascii=is_ascii))
    assert max(map(display_width, text.splitlines())) <= columns
    assert text.isascii() == is_ascii
    for word in ("93 %", "104 %", "agent event", "session file", "QUOTA_EXCEEDED"):
        assert word in " ".join(text.split())


def test_colours_follow_the_level_and_are_optional() -> None:
    """Red for a rejected window, yellow for one that is nearly used, green for the rest."""
    text = shown(Style(140, has_colour=True))
    colours = [line.split("\x1b[")[1][:2] for line in text.splitlines() if "▕" in line]
    assert colours == ["33", "32", "31"]
    assert "\x1b" not in shown(Style(140))


def test_without_any_report_the_screen_names_when_values_appear() -> None:
    assert format_limits(LimitsView(), NOW, Style(200)) == NOTHING_KNOWN


def test_the_mark_is_drawn_until_the_bar_reaches_it() -> None:
    """At its own column, in both kinds of characters."""
    assert draw_bar(0.5, 10, 0.8) == "▕█████   │ ▏"
    assert draw_bar(0.5, 10, 0.8, is_ascii=True) == "[#####...|.]"
    assert draw_bar(0.85, 10, 0.8) == "▕████████▌ ▏"
    assert draw_bar(0.5, 10, 1.0) == draw_bar(0.5, 10)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (150, "2 min"), (7800, "2 h 10 min"), (7200, "2 h"), (356_400, "4 d 3 h")],
)
def test_a_span_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert format_span(seconds) == text


def test_text_of_a_provider_cannot_control_the_terminal() -> None:
    """A ledger of an older version may have any name of a window."""
    odd = window_use("five\x1b[2J\nfake", 0.5, NOW)
    text = format_limits(view_limits((), (odd,), NOW), NOW, Style(100))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 2
