"""The tasks of `ostler watch` as plain text, for output that is not a terminal."""

from __future__ import annotations

from ostler.cli.terminal.text import terminal_width
from ostler.cli.watch.board import Board
from ostler.cli.watch.screen import cells_for, render_header
from ostler.cli.watch.table import fit_columns, split_sections
from ostler.model.policy.needs import URGENT

# Of the sections of waiting and ended tasks.
_MAX_ROWS = 20


def format_snapshot(board: Board, now: float) -> str:
    """Return the totals and each section with its tasks."""
    width = terminal_width()
    lines = [line for line in (render_header(board.totals, width).plain, board.notice) if line]
    shown = [
        (section, section.rows[: None if section.rows[0].section in (*URGENT, "running") else _MAX_ROWS])
        for section in split_sections(board.rows)
    ]
    cells = {row.id: cells_for(board, row, now) for _, part in shown for row in part}
    columns = fit_columns(list(cells.values()), width - 2) if cells else None
    for section, part in shown:
        lines += ["", section.heading]
        lines += ["  " + "  ".join(columns.format_cells(cells[row.id])).rstrip() for row in part if columns]
        if len(part) < len(section.rows):
            lines.append(f"  ... and {len(section.rows) - len(part)} more: ostler status")
    return "\n".join(lines)
