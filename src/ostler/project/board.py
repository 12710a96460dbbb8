"""Reads a page of a project's tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ostler.model.attempt import TaskRow
from ostler.model.status import TaskStatus
from ostler.project.project import Project
from ostler.store.listing import Cursor, Matching, Sort, key_of
from ostler.views.board import BoardRow, BoardView, view_counts, view_row
from ostler.views.lanes import Lane
from ostler.views.live import Live


class Wish(Struct, frozen=True):
    """Which page."""

    statuses: tuple[str, ...] = ()  # none: all
    text: str = ""
    pipeline: str = ""
    sort: Sort = "updated"
    after: Cursor = ()
    limit: int = 100
    priority: str = ""


class Board(Struct, frozen=True):
    view: BoardView
    last: Cursor  # () when it is the last page


def read_board(project: Project, wish: Wish, live: Live) -> Board:
    """The page, the counts of all tasks, and how the feed stood before."""
    journal = project.journal
    position = journal.position()
    left = tuple(task for task in journal.listing.running() if not project.in_hand(task))
    matching = Matching(wish.statuses, wish.text, wish.pipeline, left, wish.priority)
    found = journal.listing.page(matching, wish.sort, wish.after, wish.limit + 1)
    rows = journal.named_rows(found[: wish.limit])
    view = BoardView(
        tasks=_rows(project, rows, live),
        counts=view_counts(journal.listing.counts(), len(left)),
        total=journal.listing.total(matching),
        next=None,
        position=position,
    )
    return Board(view, key_of(rows[-1], wish.sort) if len(found) > wish.limit and rows else ())


def _rows(project: Project, rows: Sequence[TaskRow], live: Live) -> tuple[BoardRow, ...]:
    views = project.views(rows)
    running = {view.id for view in views if view.status is TaskStatus.IN_PROGRESS}
    lanes: Mapping[str, Lane] = live.lanes(project.journal) if running else {}
    return tuple(
        view_row(project.show(row.id) if row.id in running else view, lanes.get(row.id))
        for row, view in zip(rows, views, strict=True)
    )
