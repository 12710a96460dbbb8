"""One look at all tasks as plain text, for whoever is no terminal."""

from __future__ import annotations

from ostler.cli.text import terminal_width
from ostler.cli.watching.board import Board
from ostler.cli.watching.draw import columns_for, sections_of
from ostler.cli.watching.screen import glance_of, header

_MOST_ROWS = 20  # of what waits, and of what has ended


def snapshot(board: Board, now: float) -> str:
    """The totals, then each section with its tasks."""
    room = terminal_width()
    lines = [header(board.totals, room).plain]
    shown = [
        (section, section.rows[: None if section.rows[0].group in ("needs_you", "running") else _MOST_ROWS])
        for section in sections_of(board.rows)
    ]
    glances = {row.id: glance_of(board, row, now) for _, part in shown for row in part}
    columns = columns_for(list(glances.values()), room - 2) if glances else None
    for section, part in shown:
        lines += ["", section.heading]
        lines += ["  " + "  ".join(columns.line(glances[row.id])).rstrip() for row in part if columns]
        if len(part) < len(section.rows):
            lines.append(f"  ... and {len(section.rows) - len(part)} more: ostler status")
    return "\n".join(lines)
