"""Format text for a terminal: escaped, aligned and coloured."""

from __future__ import annotations

import os
import sys
import time
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import TextIO

from ostler.clock import format_local_time
from ostler.lazy import lazy_pattern

# C0 and C1 controls but for tab and newline, bidirectional controls, line separators, invisible tags.
_UNSAFE = lazy_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_COLOURS = {"green": "32", "red": "31", "yellow": "33", "blue": "36", "dim": "2", "bold": "1"}
_UNLIMITED = 10_000
_MIN_COLUMN = 8
# Optional columns are dropped until the last column has this width.
_MIN_LAST_COLUMN = 30
STATUS_COLOURS = {
    "completed": "green",
    "approved": "green",
    "in_progress": "blue",
    "failed": "red",
    "quarantined": "red",
    "blocked": "yellow",
    "needs_review": "yellow",
    "paused": "yellow",
    "deferred": "yellow",
    "cancelled": "dim",
    "abandoned": "dim",
}


def escape_controls(text: str) -> str:
    """Return the text with escaped control characters, so that it cannot control the terminal."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def to_one_line(text: str) -> str:
    """Return the text on one line, so that text of an agent cannot look like a line of Ostler."""
    return escape_controls(" ".join(text.split()))


def use_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, on: bool) -> str:
    code = _COLOURS.get(colour)
    return f"\x1b[{code}m{text}\x1b[0m" if on and code else text


def display_width(text: str) -> int:
    """Return the number of terminal columns of a text."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def truncate(text: str, columns: int) -> str:
    """Truncate the text to this many columns, with an ellipsis."""
    if display_width(text) <= columns:
        return text
    room = columns - 1
    for end, char in enumerate(text):
        room -= _char_width(char)
        if room < 0:
            return text[:end].rstrip() + "…"
    return text


def wrap_hanging(text: str, indent: int, room: int | None = None) -> str:
    """Wrap the text to the screen and indent all lines but the first; words are not broken."""
    room, lines = screen_width() if room is None else room, list[str]()
    while (
        display_width(text) > room
        and (cut := text.rfind(" ", indent, len(truncate(text, room + 1)))) > indent
    ):
        lines.append(text[:cut].rstrip())
        text = " " * indent + text[cut:].lstrip()
    return "\n".join([*lines, text])


def pad(text: str, columns: int) -> str:
    return text + " " * max(0, columns - display_width(text))


def terminal_width() -> int:
    """Return the width of the terminal; a pipe or file has no limit."""
    # As shutil.get_terminal_size does, without its slow import.
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(1).columns or _UNLIMITED
    except OSError:
        return _UNLIMITED


def screen_width() -> int:
    """Return the width when stdout is a terminal; a log file has no limit, even when COLUMNS is set."""
    return terminal_width() if sys.stdout.isatty() else _UNLIMITED


def format_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    colours: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> str:
    """Format a table; the last column takes the remaining width, `colours` are for the second column.

    Empty columns are left out. On a narrow terminal the `optional` columns are dropped, in this order.
    """
    widths = [max(display_width(row[i]) for row in (header, *rows)) for i in range(len(header))]
    shown = [i for i in range(len(header)) if not rows or any(row[i] for row in rows)]
    for name in optional:
        if _room_for_last(shown, widths) < min(widths[shown[-1]], _MIN_LAST_COLUMN):
            shown = [i for i in shown if header[i] != name]
    _shrink_columns(shown, widths)
    widths[shown[-1]] = max(_MIN_COLUMN, min(widths[shown[-1]], _room_for_last(shown, widths)))
    colour = use_colour(sys.stdout)
    lines = [paint(_format_row(header, shown, widths), "dim", colour)]
    for number, row in enumerate(rows):
        lines.append(_format_row(row, shown, widths, colours[number] if colours and colour else ""))
    return "\n".join(lines)


def _shrink_columns(shown: Sequence[int], widths: list[int]) -> None:
    """Shrink the widest columns until the last one has its minimum width."""
    while len(shown) > 1 and _room_for_last(shown, widths) < min(widths[shown[-1]], _MIN_COLUMN):
        widest = max(shown[:-1], key=widths.__getitem__)
        if widths[widest] <= _MIN_COLUMN:
            return
        widths[widest] -= 1


def _room_for_last(shown: Sequence[int], widths: Sequence[int]) -> int:
    return terminal_width() - sum(widths[i] + 2 for i in shown[:-1])


def _format_row(cells: Sequence[str], shown: Sequence[int], widths: Sequence[int], colour: str = "") -> str:
    fitted = [pad(truncate(cells[i], widths[i]), widths[i]) for i in shown]
    if colour:
        fitted[1] = paint(fitted[1], colour, on=True)
    return "  ".join(fitted).rstrip()


def format_age(at: float, now: float | None = None) -> str:
    """Return how long ago a time was, in its largest unit."""
    passed = (time.time() if now is None else now) - at
    return "now" if passed < 1 else format_duration(passed) + " ago"


def format_duration(seconds: float) -> str:
    for limit, unit, name in ((60, 1, "s"), (3600, 60, "min"), (86400, 3600, "h")):
        if seconds < limit:
            return f"{int(seconds // unit)} {name}"
    return f"{int(seconds // 86400)} d"


def format_span(seconds: float) -> str:
    """Return a duration in its two largest units: 45 s, 12 min, 2 h 10 min, 4 d 3 h."""
    whole = max(0, int(seconds))
    for unit, name, part, part_name in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if whole >= unit:
            rest = whole % unit // part
            return f"{whole // unit} {name}" + (f" {rest} {part_name}" if rest else "")
    return format_duration(whole)


def format_timestamp(text: str) -> str:
    """Return an RFC 3339 time in local time."""
    return format_local_time(datetime.fromisoformat(text).timestamp(), time.time())


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun, whose plural ends in s."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def format_tokens(count: int) -> str:
    return f"{count}" if count < 10_000 else f"{count / 1000:.0f}k"


def format_reason(code: str | None, message: str) -> str:
    """Join a code and its message."""
    return ": ".join(part for part in (code, message) if part)


def format_usd(usd: float | None) -> str:
    return "" if usd is None else f"${usd:.2f}" if usd >= 0.005 or usd == 0 else f"${usd:.4f}"
