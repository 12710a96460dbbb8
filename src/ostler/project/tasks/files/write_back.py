"""Updates the source of a completed task; a failed update is retried at the next import from there."""

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
from ostler.model.notice import Notice, SourceUpdated, SourceUpdateFailed
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.sources.checklist_file import tick_box
from ostler.sources.issues import comment_once
from ostler.sources.origin import BoxOrigin, IssueOrigin, Origin, read_origin


def update_source(task: Task, state: State, layout: Layout) -> tuple[Notice, ...]:
    """Tick the box or add the comment, idempotently; returns a notice about the result."""
    origin = read_origin(task.source)
    if origin is None:
        return ()
    try:
        updated = _write_update(origin, task, state, layout)
    except (OstlerError, OSError) as error:
        _mark_pending(task.id, layout)
        return (SourceUpdateFailed(task.source, str(error)),)
    reach("source.updated")
    (_pending_folder(layout) / task.id).unlink(missing_ok=True)
    return (SourceUpdated(task.source),) if updated else ()


def retry_source_updates(project: Project, kind: type[Origin]) -> list[Notice]:
    """Retry failed updates; return the notices, which are also written to the feed."""
    notices: list[Notice] = []
    for path in sorted(_pending_folder(project.layout).glob("*")):
        notices += _retry_update(project, TaskId(path.name), kind)
    return notices


def _retry_update(project: Project, task: TaskId, kind: type[Origin]) -> tuple[Notice, ...]:
    held = try_lock(project.layout.lock(task))
    if held is None:
        return ()
    with held:
        row = project.journal.row(task)
        if (
            row is None or row.status != TaskStatus.COMPLETED
        ):  # reopened: it is updated when it completes again
            return ()
        asked = project.task(task)
        if not isinstance(read_origin(asked.source), kind):
            return ()
        notices = update_source(asked, project.state(task), project.layout)
        project.journal.notify(task, SystemClock.now(), notices)
        return notices


def _write_update(origin: Origin, task: Task, state: State, layout: Layout) -> bool:
    match origin:
        case BoxOrigin():
            return asyncio.run(tick_box(origin, layout.root, SystemClock()))
        case IssueOrigin():
            return comment_once(origin, f"<!-- ostler {task.id} -->", _format_comment(task, state))


def _format_comment(task: Task, state: State) -> str:
    """Return the comment for the issue."""
    results = {
        "pull request": state.pr_url,
        "document": f"`{state.output}`" if state.output else None,
        "branch": f"`{state.branch}`" if state.branch else None,
        "commit": state.commit,
    }
    lines = [f"- {name}: {value}" for name, value in results.items() if value]
    return "\n".join((f"Ostler has completed this as `{task.id}`.", *([""] if lines else []), *lines))


def _mark_pending(task: TaskId, layout: Layout) -> None:
    make_private_dir(_pending_folder(layout))
    write_atomic(_pending_folder(layout) / task, b"")


def _pending_folder(layout: Layout) -> Path:
    return layout.state / "untold"
