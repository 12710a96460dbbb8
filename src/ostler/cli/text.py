"""Text on a terminal: safe, aligned, and in colour only where colour is wanted."""

from __future__ import annotations

import os
import re
import sys
import time
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import TextIO

from ostler.clock import local_time

# C0 and C1 controls but for tab and newline, bidirectional controls, line separators, invisible tags.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_COLOURS = {"green": "32", "red": "31", "yellow": "33", "blue": "36", "dim": "2", "bold": "1"}
_NO_END = 10_000
_NARROWEST = 8
_LAST_COLUMN = 30  # what the last column of a table should have, at the cost of spare ones
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


def printable(text: str) -> str:
    """The text with everything that could steer a terminal made visible instead."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def one_line(text: str) -> str:
    """The same on one line: what an agent says must not look like a line of ours."""
    return printable(" ".join(text.split()))


def wants_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, on: bool) -> str:
    code = _COLOURS.get(colour)
    return f"\x1b[{code}m{text}\x1b[0m" if on and code else text


def width(text: str) -> int:
    """How many columns a terminal gives it."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fit(text: str, columns: int) -> str:
    """The text cut to so many columns, with an ellipsis where it was cut."""
    if width(text) <= columns:
        return text
    room = columns - 1
    for end, char in enumerate(text):
        room -= _columns(char)
        if room < 0:
            return text[:end].rstrip() + "…"
    return text


def hanging(text: str, indent: int, room: int | None = None) -> str:
    """The text in lines that fit the screen, all but the first one indented; no word is broken."""
    room, lines = screen_width() if room is None else room, list[str]()
    while width(text) > room and (cut := text.rfind(" ", indent, len(fit(text, room + 1)))) > indent:
        lines.append(text[:cut].rstrip())
        text = " " * indent + text[cut:].lstrip()
    return "\n".join([*lines, text])


def pad(text: str, columns: int) -> str:
    return text + " " * max(0, columns - width(text))


def terminal_width() -> int:
    """The columns there are to fill; a pipe or a file has no end."""
    told = os.environ.get("COLUMNS", "")  # as shutil does it, whose import takes longer than all our text
    if told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(1).columns or _NO_END
    except OSError:
        return _NO_END


def screen_width() -> int:
    """The same where someone looks; a log has no end, whatever the shell that wrote it had."""
    return terminal_width() if sys.stdout.isatty() else _NO_END


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    colours: Sequence[str] = (),
    spare: Sequence[str] = (),
) -> str:
    """Aligned columns; the last one takes what room is left. `colours` colours each row's second column.

    Columns in which nothing stands are left out, and those named in `spare`, the first one first, where the
    terminal is too narrow for all.
    """
    widths = [max(width(row[i]) for row in (header, *rows)) for i in range(len(header))]
    shown = [i for i in range(len(header)) if not rows or any(row[i] for row in rows)]
    for name in spare:
        if _room_for_last(shown, widths) < min(widths[shown[-1]], _LAST_COLUMN):
            shown = [i for i in shown if header[i] != name]
    _narrow(shown, widths)
    widths[shown[-1]] = max(_NARROWEST, min(widths[shown[-1]], _room_for_last(shown, widths)))
    colour = wants_colour(sys.stdout)
    lines = [paint(_line(header, shown, widths), "dim", colour)]
    for number, row in enumerate(rows):
        lines.append(_line(row, shown, widths, colours[number] if colours and colour else ""))
    return "\n".join(lines)


def _narrow(shown: Sequence[int], widths: list[int]) -> None:
    """Take from the widest column what the last one needs at least."""
    while len(shown) > 1 and _room_for_last(shown, widths) < min(widths[shown[-1]], _NARROWEST):
        widest = max(shown[:-1], key=widths.__getitem__)
        if widths[widest] <= _NARROWEST:
            return
        widths[widest] -= 1


def _room_for_last(shown: Sequence[int], widths: Sequence[int]) -> int:
    return terminal_width() - sum(widths[i] + 2 for i in shown[:-1])


def _line(cells: Sequence[str], shown: Sequence[int], widths: Sequence[int], colour: str = "") -> str:
    fitted = [pad(fit(cells[i], widths[i]), widths[i]) for i in shown]
    if colour:
        fitted[1] = paint(fitted[1], colour, on=True)
    return "  ".join(fitted).rstrip()


def since(at: float, now: float | None = None) -> str:
    """How long ago, in the one unit that matters."""
    passed = (time.time() if now is None else now) - at
    return "now" if passed < 1 else span(passed) + " ago"


def span(seconds: float) -> str:
    for limit, unit, name in ((60, 1, "s"), (3600, 60, "min"), (86400, 3600, "h")):
        if seconds < limit:
            return f"{int(seconds // unit)} {name}"
    return f"{int(seconds // 86400)} d"


def local_time_of(text: str) -> str:
    """A time as JSON has it, as a person reads it."""
    return local_time(datetime.fromisoformat(text).timestamp(), time.time())


def tokens(count: int) -> str:
    return f"{count}" if count < 10_000 else f"{count / 1000:.0f}k"


def reason(code: str | None, message: str) -> str:
    """Why something is as it is: the code, then the sentence where there is one."""
    return ": ".join(part for part in (code, message) if part)


def money(usd: float | None) -> str:
    return "" if usd is None else f"${usd:.2f}" if usd >= 0.005 or usd == 0 else f"${usd:.4f}"
