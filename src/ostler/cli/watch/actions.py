"""Apply the actions of the `ostler watch` screen and describe the result in one line."""

from __future__ import annotations

import os

from ostler.cli.watch.handle_key import ActionRequest
from ostler.errors import OstlerError
from ostler.model.ids import TaskId
from ostler.project.actions import ACTIONS
from ostler.project.active_runs import list_active_runs
from ostler.project.apply_action import apply_action
from ostler.project.project import Project
from ostler.views.task import TaskView


def run_action(project: Project, request: ActionRequest) -> str:
    """Record the decision; return the line to show, also when the task's state does not allow it."""
    takes_text = "text" in ACTIONS[request.action].params.__struct_fields__
    values = {"text": request.text} if takes_text else {}
    try:
        view = apply_action(project, os.environ, TaskId(request.task), request.action, **values)
    except OstlerError as error:
        return f"{error.message}  {error.hint}" if error.hint else error.message
    return f"{view.id} is {view.status}{_describe_next(project, view)}"


def _describe_next(project: Project, view: TaskView) -> str:
    if view.status not in ("pending", "revision"):
        return ""
    if list_active_runs(project.layout):
        return "; the active run continues it"
    return f"; next: ostler run {view.id}"
