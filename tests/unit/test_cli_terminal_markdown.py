"""Markdown on a terminal: wrapped, and without control characters."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.cli.terminal.markdown import render_markdown
from ostler.cli.terminal.text import display_width

ANSI = re.compile(r"\x1b\[[0-9;]*m")
WIDE = 10**9


def plain(text: str, columns: int = 20) -> list[str]:
    return list(render_markdown(text, columns, colour=False))


def coloured(text: str, columns: int = 40) -> list[str]:
    return list(render_markdown(text, columns, colour=True))


def test_long_lines_are_broken_at_spaces() -> None:
    """A word longer than a line is broken anywhere."""
    assert plain("one two three four five six") == ["one two three four", "five six"]
    assert plain("x" * 45) == ["x" * 20, "x" * 20, "x" * 5]
    assert plain("a" * 20 + " b") == ["a" * 20, "b"]


def test_items_hang_below_their_text() -> None:
    """Lists, numbers and quotes, also nested."""
    assert plain("- one two three four five") == ["- one two three four", "  five"]
    assert plain("12. one two three four") == ["12. one two three", "    four"]
    assert plain("  * one two three four") == ["  * one two three", "    four"]
    assert plain("> one two three four five") == ["> one two three four", "  five"]


def test_without_colour_the_markup_is_kept() -> None:
    """The markup is kept."""
    text = "# Head\n\n`code` and **bold**\n```py\nx = 1\n```"
    assert plain(text) == ["# Head", "", "`code` and **bold**", "```py", "x = 1", "```"]


def test_colour_replaces_the_markup() -> None:
    """Headings and bold text are bold, code is indented."""
    head, _, inline, *code, after = coloured("## Head\n\na `b` **c**\n```py\nx = 1\n\ny\n```\nend")
    assert head == "\x1b[1mHead\x1b[0m"
    assert inline == "a \x1b[36mb\x1b[0m \x1b[1mc\x1b[0m"
    assert code == ["\x1b[2m    x = 1\x1b[0m", "", "\x1b[2m    y\x1b[0m"]
    assert after == "end"


def test_a_style_continues_on_the_next_line() -> None:
    """Each line is painted separately."""
    lines = coloured("**one two three four five six seven eight nine**", 20)
    assert all(line.startswith("\x1b[1m") and line.endswith("\x1b[0m") for line in lines)
    assert " ".join(ANSI.sub("", line) for line in lines) == "one two three four five six seven eight nine"


def test_wide_letters_take_two_columns() -> None:
    """A line holds half as many of them."""
    assert plain("日本語" * 5) == ["日本語日本語日本語日", "本語日本語"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", ["red"]),
        ("\x1b]0;title\x07", ["\\x1b]0;title\\x07"]),
        ("a\rb\x00\x9b", ["a\\x0db\\x00\\x9b"]),
        ("\u202eabc", ["\\x202eabc"]),
        ("a\tb", ["a   b"]),
        ("a\r\nb", ["a", "b"]),
    ],
)
def test_control_characters_are_escaped(text: str, shown: list[str]) -> None:
    """Colour codes are removed; other control characters are escaped."""
    assert plain(text, 40) == shown


def test_a_file_is_not_wrapped() -> None:
    """Output that is not a terminal is not wrapped."""
    assert plain("word " * 5000, WIDE) == [("word " * 5000).rstrip()]


@given(text=st.text(max_size=200), columns=st.integers(20, 60), colour=st.booleans())
def test_every_line_fits(text: str, columns: int, colour: bool) -> None:
    """No line is wider than the screen or contains a control character."""
    for line in render_markdown(text, columns, colour):
        bare = ANSI.sub("", line) if colour else line
        assert display_width(bare) <= columns
        assert "\x1b" not in bare and "\n" not in bare


@given(text=st.text(alphabet="ab `*#\n", max_size=200))
def test_no_letter_is_lost(text: str) -> None:
    """Without colour the text is unchanged."""
    assert "".join(plain(text)).replace(" ", "") == text.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("text", ["word " * 20_000, "x" * 100_000, "a\n" * 20_000])
def test_long_text_takes_no_long_time(text: str) -> None:
    """The time grows linearly with the text."""
    began = process_time()
    assert sum(1 for _ in render_markdown(text, 80, colour=True)) > 1000
    assert process_time() - began < 5
