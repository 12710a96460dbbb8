"""Text on a terminal: control characters are escaped, and columns align."""

from __future__ import annotations

import time

import pytest

from ostler.cli.terminal.text import (
    display_width,
    escape_controls,
    format_duration,
    format_table,
    format_tokens,
    format_usd,
    pad,
    truncate,
    wrap_hanging,
)


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b[2J",
        "\x1b]52;c;aGk=\x07",
        "\x1b]8;;http://x\x1b\\link",
        "\x9b31m",
        "a\rb",
        "\x00\x07\x08\x7f",
        "\u202eabc",
        "\u2066x\u2069",
        "\U000e0041",
    ],
)
def test_control_characters_become_visible(hostile: str) -> None:
    """A13: escapes, C1 controls, carriage returns, bidirectional and tag characters."""
    shown = escape_controls(f"before {hostile} after")
    assert shown.startswith("before ") and shown.endswith(" after")
    assert all(char.isprintable() for char in shown)
    assert "\\x" in shown


def test_ordinary_text_is_left_alone() -> None:
    """Umlauts, CJK, emoji and tabs pass."""
    assert escape_controls("Größe 項目 🙂\tok") == "Größe 項目 🙂\tok"


def test_width_counts_columns() -> None:
    """Wide characters take two columns, combining ones none."""
    assert (display_width("abc"), display_width("項目"), display_width("e\u0301")) == (3, 4, 1)
    assert display_width(pad("項", 5)) == 5


@pytest.mark.parametrize(("text", "columns"), [("a long title here", 8), ("項目項目項目", 7), ("x", 1)])
def test_truncate_never_exceeds_its_columns(text: str, columns: int) -> None:
    """A truncated text ends in an ellipsis and fits."""
    assert display_width(truncate(text, columns)) <= columns
    assert truncate(text, 100) == text


def test_a_long_text_is_truncated_at_once() -> None:
    """The time does not depend on the length of the text."""
    begun = time.monotonic()
    assert display_width(truncate("é" * 200_000, 10_000)) == 10_000
    assert time.monotonic() - begun < 10


def test_tables_line_up_with_wide_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second column starts at the same place in every row."""
    monkeypatch.setenv("COLUMNS", "60")
    lines = format_table(
        ("id", "title"), [("a", "項目"), ("項目", "b"), ("long-one", "c" * 200)]
    ).splitlines()
    assert [
        display_width(line[: line.index(mark)])
        for line, mark in zip(lines, ("title", "項目", "b", "c"), strict=True)
    ] == [10] * 4
    assert all(display_width(line) <= 60 for line in lines)


def test_numbers_are_short() -> None:
    """Durations, tokens and costs; an unknown cost is empty, not zero."""
    assert [format_duration(s) for s in (5, 61, 3700, 90000)] == ["5 s", "1 min", "1 h", "1 d"]
    assert [format_tokens(n) for n in (999, 12_345)] == ["999", "12k"]
    assert [format_usd(m) for m in (None, 0.0, 0.00014, 1.5)] == ["", "$0.00", "$0.0001", "$1.50"]


HEADER = ("id", "status", "phase", "cost", "title")
ROWS = [
    ("a-task-with-a-long-name-x2y3", "completed", "implement 1", "", "Fix the slug of titles with spaces")
]


@pytest.mark.parametrize(
    ("columns", "shown"),
    [("120", ["id", "status", "phase", "title"]), ("72", ["id", "status", "title"]), ("45", ["id", "title"])],
)
def test_a_narrow_terminal_drops_optional_columns(
    monkeypatch: pytest.MonkeyPatch, columns: str, shown: list[str]
) -> None:
    """Empty columns are left out, optional ones dropped in order, and each row keeps one line."""
    monkeypatch.setenv("COLUMNS", columns)
    lines = format_table(HEADER, ROWS, optional=("phase", "status")).splitlines()
    assert lines[0].split() == shown
    assert all(display_width(line) <= int(columns) for line in lines)


def test_a_pipe_gets_every_character(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output that is not a terminal is not truncated."""
    monkeypatch.delenv("COLUMNS", raising=False)
    assert "c" * 500 in format_table(("id", "title"), [("a", "c" * 500)])


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (40, ["  why       a reason that is longer than", "            the line"]),
        (80, ["  why       a reason that is longer than the line"]),
        (10, ["  why       a reason that is longer than the line"]),
    ],
)
def test_long_text_is_wrapped_with_an_indent(columns: int, lines: list[str]) -> None:
    """It is wrapped between words, and only when that helps."""
    text = "  why       a reason that is longer than the line"
    assert wrap_hanging(text, 12, columns).split("\n") == lines


def test_a_table_fits_a_narrow_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """The widest column gives up what the last one needs."""
    monkeypatch.setenv("COLUMNS", "40")
    rows = [("evil-31mred-0-pwn-title-e86d", "completed", "日本語の題名 and more")]
    lines = format_table(("id", "status", "title"), rows).split("\n")
    assert all(display_width(line) <= 40 for line in lines), lines
    assert lines[1].startswith("evil-31mred-0-pwn-…  completed  日本")
