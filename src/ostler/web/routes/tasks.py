"""The routes of tasks: lists, one task in full, and new tasks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus
from ostler.model.task import Input, Output, to_priority
from ostler.model.usage import add_cost
from ostler.project.artifacts import task_view
from ostler.project.decisions.moments import parse_since
from ostler.project.preflight import check_new
from ostler.project.project import Project
from ostler.project.tasks import edit
from ostler.project.tasks.edit import TaskChanges
from ostler.project.tasks.lists.status_filter import parse_status
from ostler.project.tasks.lists.task_list import TaskQuery, read_page
from ostler.project.tasks.submission import create_task
from ostler.store.listing import Cursor, Sort, is_valid_cursor
from ostler.views.lists.board import BoardRow, BoardView, statuses_of
from ostler.views.task import TaskView
from ostler.web.cursors import invalid_cursor, read_cursor, write_cursor
from ostler.web.live_cost import price_live_tokens
from ostler.web.requests import NewTask, TasksQuery
from ostler.web.responses import RequestError
from ostler.web.route import Empty, RequestParts
from ostler.web.site import Site


class RequestView(Struct, frozen=True, kw_only=True):
    """A task as it was submitted."""

    schema: str = "ostler.request/1"
    id: str
    title: str
    body: str
    weight: str
    priority: str
    role: str
    executor: str
    model: str
    skill: str
    phases: tuple[str, ...]
    after: tuple[str, ...]
    inputs: tuple[Input, ...]
    output: Output | None
    budget_usd: float | None
    timeout_seconds: float | None
    max_retries: int | None
    sender: str
    source: str
    tags: tuple[str, ...]
    label: str


def list_tasks(site: Site, project: Project, request: RequestParts[TasksQuery, Empty]) -> BoardView:
    query = request.query
    task_query = TaskQuery(
        statuses_of(query.group, read_statuses(query.status)),
        query.q,
        query.pipeline,
        query.sort,
        _cursor(query.after, query.sort),
        query.limit,
        to_priority(query.priority or ""),
        query.archived,
        parse_since(query.since, "since") if query.since else 0.0,
    )
    board = read_page(project, task_query, site.live, site.sizes)
    rows = _add_live_costs(site, project, board.view.tasks)
    return replace(board.view, tasks=rows, next=write_cursor(board.last) if board.last else None)


def _add_live_costs(site: Site, project: Project, rows: tuple[BoardRow, ...]) -> tuple[BoardRow, ...]:
    """Add what the running attempts cost so far."""
    if all(row.since is None for row in rows):
        return rows
    lanes = site.live.lanes(project.journal)
    found = (lanes[row.id] for row in rows if row.since and row.id in lanes)
    costs = {lane.task: price_live_tokens(project, lane) for lane in found}
    return tuple(replace(row, cost_usd=add_cost(row.cost_usd, costs.get(row.id))) for row in rows)


def show_task(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> TaskView:
    return task_view.show_task(project, find_task(project, request.path["task"]), os.environ, time.time())


def show_request(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> RequestView:
    task = project.task(find_task(project, request.path["task"]))
    fields = {name: getattr(task, name) for name in RequestView.__struct_fields__ if name != "schema"}
    return RequestView(**fields)


def new_task(site: Site, project: Project, request: RequestParts[Empty, NewTask]) -> TaskView:
    new = request.body
    task = replace(create_task(new), role=new.role)
    check_new(project, task)
    with project.journal.transaction():  # with `hold`, no run may claim it before it is paused
        added = project.add(task)
        if new.hold:
            project.act(added.id, "pause")
    return project.show(added.id)


def edit_task(site: Site, project: Project, request: RequestParts[Empty, TaskChanges]) -> TaskView:
    """Edit an open task; 409 when its state does not allow it."""
    task = find_task(project, request.path["task"])
    try:
        return edit.edit_task(project, task, request.body, "api")
    except UsageError as error:
        raise RequestError(409, error.message, error.hint, error.code) from None


def find_task(project: Project, text: str) -> TaskId:
    """Return the task of a path; raise 404 when there is none."""
    try:
        return project.resolve(text)
    except UsageError as error:
        raise RequestError(404, error.message, error.hint) from None


def read_statuses(text: str) -> Iterable[TaskStatus]:
    """Yield the statuses of a list in a query; raise UsageError for an unknown one."""
    for status in filter(None, text.split(",")):
        yield parse_status(status)


def _cursor(text: str, sort: Sort) -> Cursor:
    found: Cursor = read_cursor(text, tuple[str | float, ...]) or ()
    if text and not is_valid_cursor(found, sort):
        raise invalid_cursor()
    return found
