"""Render an edit of a file as a short diff."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from ostler.cli.terminal.markdown import sanitize_lines
from ostler.views.agent_work.edits import Edit

_CONTEXT_LINES = 1
# Longer texts are shown one after the other, since comparing them is slow.
_MAX_COMPARED_LINES = 2000

Line = tuple[str, str]
"""A line with its sign, and its colour."""


def diff_lines(edit: Edit) -> list[Line]:
    """Return the removed and added lines with a little context."""
    old, new = _split_lines(edit["old"]), _split_lines(edit["new"])
    if not old or len(old) + len(new) > _MAX_COMPARED_LINES:
        return [*_prefix_lines("-", old), *_prefix_lines("+", new)]
    groups = SequenceMatcher(a=old, b=new, autojunk=False).get_grouped_opcodes(_CONTEXT_LINES)
    return [line for number, group in enumerate(groups) for line in _format_group(group, old, new, number)]


def _format_group(
    group: list[tuple[str, int, int, int, int]], old: list[str], new: list[str], number: int
) -> Iterator[Line]:
    if number:
        yield "  …", "dim"
    for kind, old_start, old_end, new_start, new_end in group:
        if kind == "equal":
            yield from _prefix_lines(" ", old[old_start:old_end])
        else:
            yield from _prefix_lines("-", old[old_start:old_end])
            yield from _prefix_lines("+", new[new_start:new_end])


def _prefix_lines(sign: str, lines: list[str]) -> Iterator[Line]:
    colour = {"-": "red", "+": "green"}.get(sign, "dim")
    return ((f"{sign} {line}".rstrip(), colour) for line in lines)


def _split_lines(text: str) -> list[str]:
    lines = sanitize_lines(text)
    return lines[:-1] if lines[-1] == "" else lines
