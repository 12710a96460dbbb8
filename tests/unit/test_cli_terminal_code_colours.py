"""Code is coloured by its language, line by line, and its text stays the same."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from ostler.cli.review.changes import ChangeLine, ShownChanges
from ostler.cli.review.render import render_changes
from ostler.cli.terminal.code_colours import colour_code

ANSI = re.compile(r"\x1b\[[0-9;]*m")
LINES = st.lists(st.text(st.sampled_from("def'\"#(){}[]<>/*x1 \t\\漢"), max_size=12), max_size=8)


def test_a_language_is_found_by_the_name_of_the_file() -> None:
    """Keywords, strings and comments have colours; a text of several lines has them in each line."""
    assert colour_code("a.py", ["def f():", "    '''one", "    two'''"]) == [
        "\x1b[35mdef\x1b[0m \x1b[34mf\x1b[0m():",
        "\x1b[33m    '''one\x1b[0m".replace("\x1b[33m    ", "    \x1b[33m"),
        "\x1b[33m    two'''\x1b[0m",
    ]
    assert colour_code("a.unknown", ["def f():"]) == ["def f():"]
    assert colour_code("a.py", []) == []


@given(
    st.sampled_from(("a.py", "a.js", "a.html", "a.md", "Makefile", "a.c", "a.json", "a.yaml", "none")), LINES
)
def test_colours_change_no_text(path: str, lines: list[str]) -> None:
    """Every line is there, whatever the code is."""
    assert [ANSI.sub("", line) for line in colour_code(path, lines)] == lines


def test_both_sides_of_a_hunk_are_coloured() -> None:
    """A removed line is not part of the new text: an open string in it changes no other line."""
    texts = ((" x = 1", 1, 1), ("-y = '''open", 2, 0), ("+y = 2", 0, 2), (" def f(): pass", 3, 3))
    shown = ShownChanges(tuple(ChangeLine(text, "a.py", old, new) for text, old, new in texts))
    lines = [*render_changes(shown, {3: ["[review 1] Why?"]}, 80, colour=True)]
    assert [ANSI.sub("", line) for line in lines] == [
        "    1  x = 1",
        "    2 -y = '''open",
        "    2 +y = 2",
        "    3  def f(): pass",
        "      ┃ [review 1] Why?",
    ]
    assert "\x1b[35mdef\x1b[0m" in lines[3] and "\x1b[32m+\x1b[0m" in lines[2]
