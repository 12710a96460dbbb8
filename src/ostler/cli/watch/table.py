"""The task list of `ostler watch`: sections, rows and columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby

from msgspec import Struct
from msgspec.structs import astuple

from ostler.cli.terminal.run.activity import format_remaining
from ostler.cli.terminal.task_table import USUAL, describe_task, describe_waiting, list_marks
from ostler.cli.terminal.text import (
    display_width,
    format_duration,
    format_reason,
    format_tokens,
    format_usd,
    pad,
    to_one_line,
    truncate,
)
from ostler.cli.watch.handle_key import Row
from ostler.clock import format_local_time
from ostler.model.policy.needs import URGENT
from ostler.views.lists.groups import SECTIONS, TITLES, Section
from ostler.views.lists.lanes import Lane
from ostler.views.task import TaskView

# Done and other ended tasks are one list, with the last one first.
_HEADINGS: dict[Section, str] = {
    section: TITLES["ended" if section == "done" else section] for section in SECTIONS
}
_STYLES: dict[Section, str] = {
    section: "bold yellow" if section in URGENT else "bold cyan" if section == "running" else "bold"
    for section in SECTIONS
}
# Dropped in this order: tokens, time, cost.
_OPTIONAL = (2, 4, 3)
_PREFERRED_TEXT_COLUMNS = 20
_MIN_TEXT_COLUMNS = 12
# Rows of each section when not all fit.
_MIN_ROWS = 3


class TaskCells(Struct, frozen=True):
    """The cells of one task in the list."""

    id: str
    state: str
    tokens: str
    cost: str
    time: str
    text: str


class Part(Struct, frozen=True):
    """Rows with a heading."""

    heading: str
    style: str
    rows: Sequence[Row]


def split_sections(rows: Sequence[Row]) -> list[Part]:
    """Split the sorted rows into parts with headings."""
    return [Part(heading, style, list(part)) for (heading, style), part in groupby(rows, _find_heading)]


def _find_heading(row: Row) -> tuple[str, str]:
    return _HEADINGS[row.section], _STYLES[row.section]


def share_rows(counts: Sequence[int], height: int, first: int) -> list[int]:
    """Return how many rows of each section are shown: some of each, more of the first sections.

    The section of the selected task gets its rows first.
    """
    shown = [min(count, _MIN_ROWS) for count in counts]
    while sum(shown) > height and max(shown) > 1:
        shown[shown.index(max(shown))] -= 1
    free = max(0, height - sum(shown))
    for index in sorted(range(len(counts)), key=lambda one: one != first):
        more = min(free, counts[index] - shown[index])
        shown[index] += more
        free -= more
    return shown


def make_cells(row: Row, view: TaskView, lane: Lane | None, activity: str, now: float) -> TaskCells:
    """Return the cells of a task; `doing` is the activity of a running one."""
    live = lane if row.section == "running" else None
    used = view.usage.total + (live.live.total if live else 0)
    at = live.since if live else datetime.fromisoformat(view.updated_at).timestamp()
    return TaskCells(
        id=row.id,
        state=f"{live.phase} {live.iteration or ''}".rstrip() if live else view.status,
        tokens=format_tokens(used) if used else "",
        cost=format_usd(view.cost_usd),
        time=format_duration(now - at),
        text=activity if live else to_one_line(" ".join(_list_words(row, view, now))),
    )


def _list_words(row: Row, view: TaskView, now: float) -> Iterator[str]:
    """Yield the priority of a task that waits for a person, its marks, and its reason or title."""
    if row.section in URGENT and view.priority != USUAL:
        yield view.priority
    yield from list_marks(view)
    yield _describe_task(row, view, now)


def _describe_task(row: Row, view: TaskView, now: float) -> str:
    reason = format_reason(view.code, view.message)
    match row.section:
        case "waiting":
            return _describe_resume(view, now) or reason or describe_waiting(view) or view.title
        case _:
            return describe_task(view)


def _describe_resume(view: TaskView, now: float) -> str:
    if not view.resumes_at:
        return ""
    at = datetime.fromisoformat(view.resumes_at).timestamp()
    reason = format_reason(view.code, view.message)
    return f"resumes at {format_local_time(at, now)}, {format_remaining(at, now)}: {reason}"


class Columns(Struct, frozen=True):
    """The width of each column; 0 when it is left out."""

    widths: tuple[int, ...]

    def format_cells(self, one: TaskCells) -> list[str]:
        cells = astuple(one)
        return [
            pad(truncate(cell, room), room) for cell, room in zip(cells, self.widths, strict=True) if room
        ]


def fit_columns(tasks: Sequence[TaskCells], columns: int) -> Columns:
    """Fit the columns to their content and the width; drop optional ones when the last gets too narrow."""
    cells = [astuple(one) for one in tasks]
    widths = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
    widths[0] = min(widths[0], max(14, columns * 3 // 10))
    for column in _OPTIONAL:
        if _remaining_columns(widths, columns) < min(widths[-1], _PREFERRED_TEXT_COLUMNS):
            widths[column] = 0
    rest = _remaining_columns(widths, columns)
    if rest < _MIN_TEXT_COLUMNS:
        # A longer id is more useful than a very short text.
        return Columns((max(1, columns - widths[1] - 2), widths[1], 0, 0, 0, 0))
    return Columns((*widths[:-1], min(widths[-1], rest)))


def _remaining_columns(widths: Sequence[int], columns: int) -> int:
    return columns - sum(one + 2 for one in widths[:-1] if one)
