"""An agent's Markdown on a terminal: wrapped, with the little of it that a terminal can show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from ostler.cli.text import paint, printable, width

_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"#{1,6}\s+(.*)")
_HANGING = re.compile(r"\s*(?:(?:[-*+]|\d{1,3}[.)]|>)\s+)?")
_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|(</?phase_complete>(?:true</phase_complete>)?)")
_ENDS_OF_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NARROWEST = 10
_INDENT = "    "

Styled = list[tuple[str, str]]
"""A text as letters, each with its colour."""


def prose_lines(text: str, columns: int, colour: bool) -> Iterator[str]:
    """The lines of a message. Without colour nothing is taken away from it."""
    fenced = False
    for line in safe_lines(text.strip("\n")):
        if _FENCE.match(line):
            fenced = not fenced
            if not colour:
                yield line
        elif fenced:
            yield from code_lines(line, columns, colour)
        else:
            yield from _paragraph(line, columns, colour)


def safe_lines(text: str) -> list[str]:
    """The lines of a text from elsewhere: colours are dropped, every other control is made visible."""
    plain = _ENDS_OF_COLOUR.sub("", text).replace("\r\n", "\n")
    return [printable(line).expandtabs(4).rstrip() for line in plain.split("\n")]


def code_lines(line: str, columns: int, colour: bool) -> Iterator[str]:
    """A line of code, set off from the text around it and broken where it does not fit."""
    indent = _INDENT if colour else ""  # without colour it stands between its fences
    for piece in broken(line, columns - len(indent)):
        yield paint(indent + piece, "dim", colour) if piece else ""


def _paragraph(line: str, columns: int, colour: bool) -> Iterator[str]:
    heading = _HEADING.fullmatch(line) if colour else None
    hanging = _HANGING.match(line)
    indent = width(hanging[0]) if hanging and not heading else 0
    if heading:
        styled: Styled = [(letter, "bold") for letter in heading[1]]
    else:
        styled = _styled(line) if colour else [(letter, "") for letter in line]
    for number, part in enumerate(_wrapped(styled, columns, min(indent, columns // 2))):
        yield " " * (min(indent, columns // 2) if number else 0) + _painted(part, colour)


def _styled(line: str) -> Styled:
    styled: Styled = []
    at = 0
    for found in _INLINE.finditer(line):
        styled += [(letter, "") for letter in line[at : found.start()]]
        shown, style = next((text, name) for text, name in zip(found.groups(), _STYLES, strict=True) if text)
        styled += [(letter, style) for letter in shown]
        at = found.end()
    return styled + [(letter, "") for letter in line[at:]]


_STYLES = ("blue", "bold", "dim")


def _wrapped(styled: Styled, columns: int, indent: int) -> Iterator[Styled]:
    """Broken at spaces; a word that is longer than a line is broken anywhere."""
    at, room = 0, max(_NARROWEST, columns)
    while (end := _fitting(styled, at, room)) < len(styled):
        space = next((here for here in range(end, at, -1) if styled[here][0] == " "), 0)
        yield styled[at : space or end]
        at = space + 1 if space else end
        room = max(_NARROWEST, columns - indent)
    yield styled[at:]


def _fitting(letters: Styled | str, at: int, room: int) -> int:
    """Where the letters end that fit into so many columns."""
    for end in range(at, len(letters)):
        room -= width(letters[end][0])
        if room < 0:
            return end
    return len(letters)


def broken(line: str, columns: int) -> Iterator[str]:
    """A line in pieces that fit, wherever that breaks it."""
    at = 0
    while (end := _fitting(line, at, max(_NARROWEST, columns))) < len(line):
        yield line[at:end]
        at = end
    yield line[at:]


def _painted(styled: Styled, colour: bool) -> str:
    runs = groupby(styled, key=lambda letter: letter[1])
    return "".join(paint("".join(letter for letter, _ in run), style, colour) for style, run in runs)
