"""A change of a file, small enough to stand between other lines."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from ostler.cli.prose import safe_lines
from ostler.views.edits import Edit

_CONTEXT = 1  # lines around a change
_MOST_COMPARED = 2000  # lines, before two texts are simply shown one after the other

Line = tuple[str, str]
"""A line with its sign before it, and the colour that it has."""


def edit_lines(edit: Edit) -> list[Line]:
    """What went and what came, line by line, with a little of what stands around it."""
    old, new = _lines(edit["old"]), _lines(edit["new"])
    if not old or len(old) + len(new) > _MOST_COMPARED:
        return [*_signed("-", old), *_signed("+", new)]
    groups = SequenceMatcher(a=old, b=new, autojunk=False).get_grouped_opcodes(_CONTEXT)
    return [line for number, group in enumerate(groups) for line in _group(group, old, new, number)]


def _group(
    group: list[tuple[str, int, int, int, int]], old: list[str], new: list[str], number: int
) -> Iterator[Line]:
    if number:
        yield "  …", "dim"
    for kind, old_start, old_end, new_start, new_end in group:
        if kind == "equal":
            yield from _signed(" ", old[old_start:old_end])
        else:
            yield from _signed("-", old[old_start:old_end])
            yield from _signed("+", new[new_start:new_end])


def _signed(sign: str, lines: list[str]) -> Iterator[Line]:
    colour = {"-": "red", "+": "green"}.get(sign, "dim")
    return ((f"{sign} {line}".rstrip(), colour) for line in lines)


def _lines(text: str) -> list[str]:
    lines = safe_lines(text)
    return lines[:-1] if lines[-1] == "" else lines
