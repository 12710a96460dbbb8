"""Bars of block characters, or of plain ASCII where the terminal has no UTF-8."""

from __future__ import annotations

from typing import TextIO

_COLUMNS = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"


def has_blocks(stream: TextIO) -> bool:
    """Return whether block characters can be printed."""
    return stream.encoding.lower().replace("-", "").startswith("utf8")


def draw_bar(
    share: float, columns: int = _COLUMNS, mark: float | None = None, *, is_ascii: bool = False
) -> str:
    """Draw a bar, two columns wider than `columns`, with a mark at a share that it has not reached."""
    eighths = round(max(0.0, min(1.0, share)) * columns * 8)
    full, part = divmod(eighths, 8)
    if is_ascii:
        cells = list("#" * full + "." * (columns - full))
    else:
        cells = list("█" * full + (_EIGHTHS[part] if part else ""))
        cells += " " * (columns - len(cells))
    position = columns if mark is None else int(mark * columns)
    if full + bool(part) <= position < columns:
        cells[position] = "|" if is_ascii else "│"
    ends = "[]" if is_ascii else "▕▏"
    return f"{ends[0]}{''.join(cells)}{ends[1]}"
