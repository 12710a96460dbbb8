"""Tells where a task came from that it is completed; what fails is kept for the next import from there."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ostler.clock import SystemClock
from ostler.errors import OstlerError
from ostler.files.atomic import make_private_dir, write_atomic
from ostler.files.failpoint import reach
from ostler.files.layout import Layout
from ostler.files.lock import try_lock
from ostler.model.ids import TaskId
from ostler.model.notice import Notice, SourceNotTold, SourceTold
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.sources.boxes import tick_box
from ostler.sources.issues import comment_once
from ostler.sources.origin import BoxOrigin, IssueOrigin, Origin, read_origin


def tell_source(task: Task, state: State, layout: Layout) -> tuple[Notice, ...]:
    """Tick the box or write the comment, once however often it is called; what hinders it is a notice."""
    origin = read_origin(task.source)
    if origin is None:
        return ()
    try:
        told = _tell(origin, task, state, layout)
    except (OstlerError, OSError) as error:
        _keep(task.id, layout)
        return (SourceNotTold(task.source, str(error)),)
    reach("source.told")
    (_untold(layout) / task.id).unlink(missing_ok=True)
    return (SourceTold(task.source),) if told else ()


def tell_again(project: Project, kind: type[Origin]) -> list[Notice]:
    """Tell what could not be told before; what came of each, which is also written to the feed."""
    notices: list[Notice] = []
    for path in sorted(_untold(project.layout).glob("*")):
        notices += _tell_one_again(project, TaskId(path.name), kind)
    return notices


def _tell_one_again(project: Project, task: TaskId, kind: type[Origin]) -> tuple[Notice, ...]:
    held = try_lock(project.layout.lock(task))
    if held is None:
        return ()
    with held:
        row = project.journal.row(task)
        if row is None or row.status != TaskStatus.COMPLETED:  # opened again: its next end tells it
            return ()
        asked = project.task(task)
        if not isinstance(read_origin(asked.source), kind):
            return ()
        notices = tell_source(asked, project.state(task), project.layout)
        project.journal.notify(task, SystemClock.now(), notices)
        return notices


def _tell(origin: Origin, task: Task, state: State, layout: Layout) -> bool:
    match origin:
        case BoxOrigin():
            return asyncio.run(tick_box(origin, layout.root, SystemClock()))
        case IssueOrigin():
            return comment_once(origin, f"<!-- ostler {task.id} -->", _comment(task, state))


def _comment(task: Task, state: State) -> str:
    """What came of the task, for who reads the issue."""
    results = {
        "pull request": state.pr_url,
        "document": f"`{state.output}`" if state.output else None,
        "branch": f"`{state.branch}`" if state.branch else None,
        "commit": state.commit,
    }
    lines = [f"- {name}: {value}" for name, value in results.items() if value]
    return "\n".join((f"Ostler has completed this as `{task.id}`.", *([""] if lines else []), *lines))


def _keep(task: TaskId, layout: Layout) -> None:
    make_private_dir(_untold(layout))
    write_atomic(_untold(layout) / task, b"")


def _untold(layout: Layout) -> Path:
    return layout.state / "untold"
