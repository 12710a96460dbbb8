"""Render Markdown on a terminal: wrapped, with headings, code and emphasis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from ostler.cli.terminal.text import display_width, escape_controls, paint

_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"#{1,6}\s+(.*)")
_HANGING = re.compile(r"\s*(?:(?:[-*+]|\d{1,3}[.)]|>)\s+)?")
_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|(</?phase_complete>(?:true</phase_complete>)?)")
_COLOUR_CODES = re.compile(r"\x1b\[[0-9;]*m")
_MIN_COLUMNS = 10
_INDENT = "    "

Styled = list[tuple[str, str]]
"""A text as characters, each with its colour."""


def render_markdown(text: str, columns: int, colour: bool) -> Iterator[str]:
    """Yield the wrapped lines of a text; without colour the Markdown markup is kept."""
    fenced = False
    for line in sanitize_lines(text.strip("\n")):
        if _FENCE.match(line):
            fenced = not fenced
            if not colour:
                yield line
        elif fenced:
            yield from render_code(line, columns, colour)
        else:
            yield from _render_paragraph(line, columns, colour)


def sanitize_lines(text: str) -> list[str]:
    """Return the lines of untrusted text: colour codes are removed, other control characters escaped."""
    plain = _COLOUR_CODES.sub("", text).replace("\r\n", "\n")
    return [escape_controls(line).expandtabs(4).rstrip() for line in plain.split("\n")]


def render_code(line: str, columns: int, colour: bool) -> Iterator[str]:
    """Yield a line of code, indented and broken at the width."""
    # Without colour the fences around the code are kept instead.
    indent = _INDENT if colour else ""
    for piece in break_line(line, columns - len(indent)):
        yield paint(indent + piece, "dim", colour) if piece else ""


def _render_paragraph(line: str, columns: int, colour: bool) -> Iterator[str]:
    heading = _HEADING.fullmatch(line) if colour else None
    hanging = _HANGING.match(line)
    indent = display_width(hanging[0]) if hanging and not heading else 0
    if heading:
        styled: Styled = [(letter, "bold") for letter in heading[1]]
    else:
        styled = _style_line(line) if colour else [(letter, "") for letter in line]
    for number, part in enumerate(_wrap(styled, columns, min(indent, columns // 2))):
        yield " " * (min(indent, columns // 2) if number else 0) + _paint_runs(part, colour)


def _style_line(line: str) -> Styled:
    styled: Styled = []
    at = 0
    for found in _INLINE.finditer(line):
        styled += [(letter, "") for letter in line[at : found.start()]]
        shown, style = next((text, name) for text, name in zip(found.groups(), _STYLES, strict=True) if text)
        styled += [(letter, style) for letter in shown]
        at = found.end()
    return styled + [(letter, "") for letter in line[at:]]


_STYLES = ("blue", "bold", "dim")


def _wrap(styled: Styled, columns: int, indent: int) -> Iterator[Styled]:
    """Wrap at spaces; break a word that is longer than a line."""
    at, room = 0, max(_MIN_COLUMNS, columns)
    while (end := _find_end(styled, at, room)) < len(styled):
        space = next((here for here in range(end, at, -1) if styled[here][0] == " "), 0)
        yield styled[at : space or end]
        at = space + 1 if space else end
        room = max(_MIN_COLUMNS, columns - indent)
    yield styled[at:]


def _find_end(text: Styled | str, at: int, room: int) -> int:
    """Return the end of the characters that fit into this many columns."""
    for end in range(at, len(text)):
        room -= display_width(text[end][0])
        if room < 0:
            return end
    return len(text)


def wrap_line(line: str, columns: int) -> Iterator[str]:
    """Yield pieces of a text that fit the width, broken at spaces."""
    return ("".join(letter for letter, _ in part) for part in _wrap([(one, "") for one in line], columns, 0))


def break_line(line: str, columns: int) -> Iterator[str]:
    """Yield pieces of a line that fit the width."""
    at = 0
    while (end := _find_end(line, at, max(_MIN_COLUMNS, columns))) < len(line):
        yield line[at:end]
        at = end
    yield line[at:]


def _paint_runs(styled: Styled, colour: bool) -> str:
    runs = groupby(styled, key=lambda letter: letter[1])
    return "".join(paint("".join(letter for letter, _ in run), style, colour) for style, run in runs)
