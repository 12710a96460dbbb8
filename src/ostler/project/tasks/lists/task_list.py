"""Reads one page of the task list of a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.project.decisions.accept import list_choices
from ostler.project.project import Project
from ostler.project.tasks.lists.change_sizes import ChangeSizes
from ostler.project.tasks.lists.status_filter import find_left
from ostler.store.listing import Cursor, Sort, TaskFilter, sort_key
from ostler.views.agent_work.live import Live
from ostler.views.lists.board import BoardRow, BoardView, Counts, view_counts, view_row
from ostler.views.lists.lanes import Lane

_DONE = (TaskStatus.COMPLETED, TaskStatus.APPROVED)


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


def read_page(project: Project, query: TaskQuery, live: Live, sizes: ChangeSizes) -> TaskPage:
    """Return the page, the counts of all tasks, and the position of the feed before the read."""
    journal = project.journal
    position = journal.position()
    left = find_left(project)
    matching = TaskFilter(
        query.statuses, query.text, query.pipeline, left, query.priority, query.archived, query.since
    )
    found = journal.listing.page(matching, query.sort, query.after, query.limit + 1)
    rows = journal.named_rows(found[: query.limit])
    view = BoardView(
        tasks=_add_results(project, rows, _view_rows(project, rows, live), sizes),
        counts=_count(project, left),
        total=journal.listing.total(matching),
        next=None,
        position=position,
    )
    return TaskPage(view, sort_key(rows[-1], query.sort) if len(found) > query.limit and rows else ())


def read_counts(project: Project) -> Counts:
    """Return the number of tasks in each group."""
    return _count(project, find_left(project))


def _count(project: Project, left: Sequence[TaskId]) -> Counts:
    listing = project.journal.listing
    return view_counts(listing.counts(), len(left), listing.needs())


def _view_rows(project: Project, rows: Sequence[TaskRow], live: Live) -> tuple[BoardRow, ...]:
    views = project.views(rows)
    running = {view.id for view in views if view.status is TaskStatus.IN_PROGRESS}
    lanes: Mapping[str, Lane] = live.lanes(project.journal) if running else {}
    return tuple(
        view_row(project.show(row.id) if row.id in running else view, lanes.get(row.id))
        for row, view in zip(rows, views, strict=True)
    )


def _add_results(
    project: Project, rows: Sequence[TaskRow], shown: Sequence[BoardRow], sizes: ChangeSizes
) -> tuple[BoardRow, ...]:
    """Return the rows with the size of completed work and what can be done with it."""
    states: dict[str, State] = {row.id: decode_state(row) for row in rows if row.status in _DONE}
    repository = project.repository() if states else None
    measured = dict(zip(states, sizes.measure(repository, [*states.values()]), strict=True))
    return tuple(
        replace(row, diffstat=measured[row.id], accept=list_choices(states[row.id]))
        if row.id in states
        else row
        for row in shown
    )
