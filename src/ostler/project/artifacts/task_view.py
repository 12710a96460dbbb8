"""One task in full, with what only the files and the accounts tell."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ostler.model.ids import TaskId
from ostler.project.limits import add_start_hold
from ostler.project.project import Project
from ostler.project.tasks.edited_file import describe_hand_edits
from ostler.views.task import TaskView


def show_task(project: Project, task: TaskId, environ: Mapping[str, str], now: float) -> TaskView:
    """Return the task with the files of it that a person changed, and why no run starts it."""
    view = add_start_hold(project.show(task), project, environ, now)
    return replace(view, changed_files=describe_hand_edits(project, project.task(task), project.state(task)))
