"""A short diff of an edit."""

from __future__ import annotations

from ostler.cli.terminal.diff_lines import diff_lines


def lines(old: str, new: str) -> list[str]:
    return [line for line, _ in diff_lines({"path": "a", "old": old, "new": new})]


def test_only_changes_are_shown_with_some_context() -> None:
    """Unchanged lines beyond the context are left out."""
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


def test_additions_and_removals_have_colours() -> None:
    """Context lines are dim."""
    shown = diff_lines({"path": "a", "old": "a\nb\n", "new": "a\nc\n"})
    assert shown == [("  a", "dim"), ("- b", "red"), ("+ c", "green")]


def test_new_file_is_all_new() -> None:
    """An empty file has no lines, and the final newline adds none."""
    assert lines("", "a\n\nb\n") == ["+ a", "+", "+ b"]
    assert lines("a\n", "") == ["- a"]
    assert lines("", "") == []


def test_control_characters_are_escaped() -> None:
    """Control characters in a file are escaped."""
    assert lines("", "\x1b]0;x\x07y") == ["+ \\x1b]0;x\\x07y"]


def test_very_long_texts_are_not_compared() -> None:
    """They are shown one after the other, without delay."""
    old, new = "\n".join(map(str, range(3000))), "\n".join(map(str, range(3000, 6000)))
    shown = lines(old, new)
    assert (shown[0], shown[3000], len(shown)) == ("- 0", "+ 3000", 6000)
