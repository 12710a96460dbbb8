"""A long text made short, with a word about what is missing."""

from __future__ import annotations

import re

_TICKS = re.compile(r"`{3,}")


def both_ends(text: str, head: int, tail: int) -> str:
    """The beginning and the end of a text."""
    left_out = len(text) - head - tail
    if left_out <= 0:
        return text
    return f"{text[:head]}\n[{left_out} characters are left out here]\n{text[len(text) - tail :]}"


def last_part(text: str, length: int) -> str:
    """The end of a text: where a program says what went wrong."""
    left_out = len(text) - length
    return text if left_out <= 0 else f"[{left_out} characters are left out here]\n{text[left_out:]}"


def fenced(text: str) -> str:
    """The text as a code block that nothing in it can close."""
    ticks = "`" * max([2, *map(len, _TICKS.findall(text))]) + "`"
    return f"{ticks}\n{text}\n{ticks}"
