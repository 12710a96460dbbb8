"""One task in full, with what only the files and the accounts have."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ostler.model.event import decode_event
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus
from ostler.project.decisions.accept import list_choices
from ostler.project.limits import add_start_hold
from ostler.project.project import Project
from ostler.project.tasks.files.edited_file import describe_hand_edits
from ostler.views.task import TaskView


def show_task(project: Project, task: TaskId, environ: Mapping[str, str], now: float) -> TaskView:
    """Return the task with the files of it that a person changed, and why no run starts it."""
    view = add_start_hold(project.show(task), project, environ, now)
    state = project.state(task)
    changed = describe_hand_edits(project, project.task(task), state)
    view = replace(view, changed_files=changed, waiting=_find_wait(project, view))
    return replace(view, accept=list_choices(state))


def _find_wait(project: Project, view: TaskView) -> str | None:
    """Return what a task waits for between two attempts."""
    if view.status is not TaskStatus.IN_PROGRESS or any(one.status == "running" for one in view.attempts):
        return None
    waiting, position = None, 0
    while lines := project.feed(position, TaskId(view.id)):
        position = lines[-1].position
        for event in map(decode_event, lines):
            waiting = event.reason if event.type == "wait_started" else waiting
            waiting = None if event.type in ("wait_ended", "task_claimed") else waiting
    return waiting
