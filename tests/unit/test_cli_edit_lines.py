"""A change of a file in a few lines."""

from __future__ import annotations

from ostler.cli.edit_lines import edit_lines


def lines(old: str, new: str) -> list[str]:
    return [line for line, _ in edit_lines({"path": "a", "old": old, "new": new})]


def test_only_what_changed_is_shown_with_a_little_around_it() -> None:
    """Of a long text the rest is not of interest."""
    old = "\n".join(f"line {n}" for n in range(30))
    assert lines(old, old.replace("line 9\n", "LINE 9\n").replace("line 20\n", "")) == [
        "  line 8",
        "- line 9",
        "+ LINE 9",
        "  line 10",
        "  …",
        "  line 19",
        "- line 20",
        "  line 21",
    ]


def test_colour_tells_what_came_and_what_went() -> None:
    """And what stayed is dim."""
    shown = edit_lines({"path": "a", "old": "a\nb\n", "new": "a\nc\n"})
    assert shown == [("  a", "dim"), ("- b", "red"), ("+ c", "green")]


def test_new_file_is_all_new() -> None:
    """An empty file has no lines, and the last newline is no line."""
    assert lines("", "a\n\nb\n") == ["+ a", "+", "+ b"]
    assert lines("a\n", "") == ["- a"]
    assert lines("", "") == []


def test_controls_are_made_visible() -> None:
    """What an agent writes into a file does not steer the terminal."""
    assert lines("", "\x1b]0;x\x07y") == ["+ \\x1b]0;x\\x07y"]


def test_very_long_texts_are_not_compared() -> None:
    """They are shown one after the other, at once."""
    old, new = "\n".join(map(str, range(3000))), "\n".join(map(str, range(3000, 6000)))
    shown = lines(old, new)
    assert (shown[0], shown[3000], len(shown)) == ("- 0", "+ 3000", 6000)
