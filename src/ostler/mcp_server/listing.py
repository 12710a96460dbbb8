"""The list of tasks, as a tool and as a resource."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, to_builtins

from ostler.mcp_server.answer import Answer, nobody
from ostler.mcp_server.arguments import List
from ostler.model.status import EXECUTABLE
from ostler.project.at_work import Run, runs_at_work
from ostler.project.project import Project
from ostler.views.task import TaskView, as_json


class Row(Struct, frozen=True):
    id: str
    title: str
    status: str
    priority: str
    phase: str
    code: str | None
    message: str
    updated_at: str
    resumes_at: str | None
    waits_for: tuple[str, ...]
    cost_usd: float | None


class Listing(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.status/1"
    total: int  # that match
    tasks: list[Row]
    runs: list[Run]
    next: str


def list_tasks(project: Project, given: List) -> Answer:
    """Those that match, the last changed first, and whether anybody works on them."""
    found = _matching(project, given)
    shown = [_row(view, given.compact) for view in found[: given.limit]]
    runs = runs_at_work(project.layout)
    step = nobody() if not runs and any(view.status in EXECUTABLE for view in found) else ""
    document = to_builtins(Listing(total=len(found), tasks=[], runs=runs, next=step)) | {"tasks": shown}
    return Answer(f"{_counted(found)}. {step}".strip(), document)


def _matching(project: Project, given: List) -> list[TaskView]:
    text = given.filter.casefold()
    found = [
        view
        for view in project.tasks()
        if (not given.status or view.status in given.status)
        and (text in view.id or text in view.title.casefold())
    ]
    return sorted(found, key=lambda view: view.updated_at, reverse=True)


def _row(view: TaskView, compact: bool) -> dict[str, Any]:
    whole = as_json(view, attempts=False)
    return {name: whole[name] for name in Row.__struct_fields__} if compact else whole


def _counted(found: list[TaskView]) -> str:
    counts: dict[str, int] = {}
    for view in found:
        counts[view.status] = counts.get(view.status, 0) + 1
    noun = "task" if len(found) == 1 else "tasks"
    told = ", ".join(f"{count} {status}" for status, count in counts.items())
    return f"{len(found)} {noun}: {told}" if found else "No tasks"
