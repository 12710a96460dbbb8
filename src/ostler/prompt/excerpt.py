"""Shortens long texts and marks the omission."""

from __future__ import annotations

import re

_TICKS = re.compile(r"`{3,}")


def keep_both_ends(text: str, head: int, tail: int) -> str:
    """Return the start and the end of a text."""
    left_out = len(text) - head - tail
    if left_out <= 0:
        return text
    return f"{text[:head]}\n[{left_out} characters are left out here]\n{text[len(text) - tail :]}"


def keep_end(text: str, length: int) -> str:
    """Return the end of a text, where programs print their errors."""
    left_out = len(text) - length
    return text if left_out <= 0 else f"[{left_out} characters are left out here]\n{text[left_out:]}"


def fence(text: str) -> str:
    """Return the text as a code block that its content cannot close."""
    ticks = "`" * max([2, *map(len, _TICKS.findall(text))]) + "`"
    return f"{ticks}\n{text}\n{ticks}"
