"""Tasks over HTTP: lists of them, one in full, and new ones."""

from __future__ import annotations

import base64
from collections.abc import Iterable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus
from ostler.model.task import Input, Output
from ostler.project.board import Wish, read_board
from ostler.project.project import Project
from ostler.project.submission import task_of
from ostler.prompt.role import find_agent
from ostler.store.listing import Cursor, Sort, fits
from ostler.views.board import BoardView, statuses_of
from ostler.views.task import TaskView
from ostler.web.problem import Refused
from ostler.web.requests import NewTask, TasksQuery
from ostler.web.route import Asked, Nothing
from ostler.web.site import Site


class RequestView(Struct, frozen=True, kw_only=True):
    """What was asked, as it was said."""

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
    sender: str
    source: str
    tags: tuple[str, ...]


def list_tasks(site: Site, project: Project, asked: Asked[TasksQuery, Nothing]) -> BoardView:
    query = asked.query
    wish = Wish(
        statuses_of(query.group, _statuses(query.status)),
        query.q,
        query.pipeline,
        query.sort,
        _cursor(query.after, query.sort),
        query.limit,
        query.priority or "",
    )
    board = read_board(project, wish, site.live)
    return msgspec.structs.replace(board.view, next=_text(board.last) if board.last else None)


def show_task(site: Site, project: Project, asked: Asked[Nothing, Nothing]) -> TaskView:
    return project.show(find_task(project, asked.path["task"]))


def show_request(site: Site, project: Project, asked: Asked[Nothing, Nothing]) -> RequestView:
    task = project.task(find_task(project, asked.path["task"]))
    said = {name: getattr(task, name) for name in RequestView.__struct_fields__ if name != "schema"}
    return RequestView(**said)


def new_task(site: Site, project: Project, asked: Asked[Nothing, NewTask]) -> TaskView:
    said = asked.body
    find_agent(said.role, project.layout.root)
    task = replace(task_of(project, said), role=said.role)
    with project.journal.transaction():  # with `hold`, no run may take it before it is paused
        added = project.add(task)
        if said.hold:
            project.pause(added.id)
    return project.show(added.id)


def find_task(project: Project, text: str) -> TaskId:
    """The task of an address; 404 when there is none."""
    try:
        return project.resolve(text)
    except UsageError as error:
        raise Refused(404, error.message, error.hint) from None


def _statuses(text: str) -> Iterable[TaskStatus]:
    for word in filter(None, text.split(",")):
        if word not in TaskStatus.__members__.values():
            raise UsageError(f"unknown status {word[:80]!r}", f"known are {', '.join(TaskStatus)}")
        yield TaskStatus(word)


def _text(cursor: Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def _cursor(text: str, sort: Sort) -> Cursor:
    if not text:
        return ()
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        found = msgspec.json.decode(data, type=tuple[str | float, ...])
    except (ValueError, msgspec.DecodeError):
        found = ()
    if not fits(found, sort):
        raise UsageError(
            "after is no place in this list", "use the `next` of the page before, or leave it out"
        )
    return found
