"""A person's word from the screen of `ostler watch`, and what came of it in one line."""

from __future__ import annotations

import asyncio
import os
from typing import assert_never

from ostler.cli.watching.press import Act
from ostler.errors import OstlerError
from ostler.model.ids import TaskId
from ostler.project.at_work import runs_at_work
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from ostler.views.task import TaskView


def carry_out(project: Project, act: Act) -> str:
    """Write the word down; what to tell the person, also when it does not fit the task."""
    try:
        view = _tell(project, act)
    except OstlerError as error:
        return f"{error.message}  {error.hint}" if error.hint else error.message
    return f"{view.id} is {view.status}{_next(project, view)}"


def _tell(project: Project, act: Act) -> TaskView:
    task = TaskId(act.task)
    match act.verb:
        case "approve":
            return project.approve(task, act.text)
        case "reject":
            return project.reject(task, act.text)
        case "pause":
            return project.pause(task)
        case "resume":
            return project.resume(task, act.text)
        case "cancel":
            return _cancel(project, task)
        case "retry":
            return project.retry(task)
        case _:
            assert_never(act.verb)


def _cancel(project: Project, task: TaskId) -> TaskView:
    """As `ostler cancel`: what nobody carries is closed here and now."""
    project.cancel(task)
    asyncio.run(Ostler(project, os.environ).settle(task))
    return project.show(task)


def _next(project: Project, view: TaskView) -> str:
    """Who goes on with it."""
    if view.status not in ("pending", "revision"):
        return ""
    return "; the run goes on with it" if runs_at_work(project.layout) else f"; next: ostler run {view.id}"
