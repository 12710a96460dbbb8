"""Reads one page of the task list of a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ostler.model.attempt import TaskRow
from ostler.model.status import TaskStatus
from ostler.project.project import Project
from ostler.store.listing import Cursor, Sort, TaskFilter, sort_key
from ostler.views.board import BoardRow, BoardView, view_counts, view_row
from ostler.views.lanes import Lane
from ostler.views.live import Live


class TaskQuery(Struct, frozen=True):
    """Filters, order and position of a page."""

    statuses: tuple[str, ...] = ()  # empty: all
    text: str = ""
    pipeline: str = ""
    sort: Sort = "updated"
    after: Cursor = ()
    limit: int = 100
    priority: str = ""
    archived: bool = False
    since: float = 0.0


class TaskPage(Struct, frozen=True):
    view: BoardView
    last: Cursor  # () on the last page


def read_page(project: Project, query: TaskQuery, live: Live) -> TaskPage:
    """Return the page, the counts of all tasks, and the position of the feed before the read."""
    journal = project.journal
    position = journal.position()
    left = tuple(task for task in journal.listing.running() if not project.is_claimed(task))
    matching = TaskFilter(
        query.statuses, query.text, query.pipeline, left, query.priority, query.archived, query.since
    )
    found = journal.listing.page(matching, query.sort, query.after, query.limit + 1)
    rows = journal.named_rows(found[: query.limit])
    view = BoardView(
        tasks=_view_rows(project, rows, live),
        counts=view_counts(journal.listing.counts(), len(left)),
        total=journal.listing.total(matching),
        next=None,
        position=position,
    )
    return TaskPage(view, sort_key(rows[-1], query.sort) if len(found) > query.limit and rows else ())


def _view_rows(project: Project, rows: Sequence[TaskRow], live: Live) -> tuple[BoardRow, ...]:
    views = project.views(rows)
    running = {view.id for view in views if view.status is TaskStatus.IN_PROGRESS}
    lanes: Mapping[str, Lane] = live.lanes(project.journal) if running else {}
    return tuple(
        view_row(project.show(row.id) if row.id in running else view, lanes.get(row.id))
        for row, view in zip(rows, views, strict=True)
    )
