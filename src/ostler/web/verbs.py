"""What a person says about a task: the verbs of the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.status import EXECUTABLE, TERMINAL, WAITS_FOR_PERSON, TaskStatus
from ostler.project.ostler import Ostler
from ostler.project.preflight import check_ready, require_turn
from ostler.project.project import Project
from ostler.views.task import TaskView
from ostler.web.problem import Refused
from ostler.web.requests import Cancelling, Refusing, Retrying, Rewinding, Silent, Skipping, Word
from ostler.web.route import Asked, Nothing
from ostler.web.site import Site
from ostler.web.tasks import find_task


def pause(site: Site, project: Project, asked: Asked[Nothing, Silent]) -> TaskView:
    return _say(project, asked, project.pause)


def resume(site: Site, project: Project, asked: Asked[Nothing, Word]) -> TaskView:
    return _say(project, asked, lambda task: project.resume(task, asked.body.text))


def cancel(site: Site, project: Project, asked: Asked[Nothing, Cancelling]) -> TaskView:
    def end(task: TaskId) -> TaskView:
        project.cancel(task, asked.body.reason)
        asyncio.run(Ostler(project, site.environ).settle(task))  # where no run has it in hand
        return project.show(task)

    return _say(project, asked, end)


def retry(site: Site, project: Project, asked: Asked[Nothing, Retrying]) -> TaskView:
    return _say(project, asked, lambda task: project.retry(task, asked.body.budget_usd))


def skip(site: Site, project: Project, asked: Asked[Nothing, Skipping]) -> TaskView:
    said = asked.body
    return _say(project, asked, lambda task: project.skip(task, said.phase, said.reason))


def rewind(site: Site, project: Project, asked: Asked[Nothing, Rewinding]) -> TaskView:
    said = asked.body
    return _say(project, asked, lambda task: project.rewind(task, said.phase, said.text))


def approve(site: Site, project: Project, asked: Asked[Nothing, Word]) -> TaskView:
    return _say(project, asked, lambda task: project.approve(task, asked.body.text))


def reject(site: Site, project: Project, asked: Asked[Nothing, Refusing]) -> TaskView:
    return _say(project, asked, lambda task: project.reject(task, asked.body.text))


def run(site: Site, project: Project, asked: Asked[Nothing, Silent]) -> TaskView:
    """The run of this server takes whatever is ready; this says why a task is not."""
    return _say(project, asked, lambda task: _ready(site, project, task))


def _ready(site: Site, project: Project, task: TaskId) -> TaskView:
    view = project.show(task)
    if not site.carries:
        raise Refused(409, "this server only looks on", f"ostler run {task}")
    if view.status in TERMINAL and view.status not in (TaskStatus.COMPLETED, TaskStatus.APPROVED):
        raise Refused(409, f"{task} is {view.status}", f"ostler retry {task}   opens it again")
    if view.status in WAITS_FOR_PERSON:
        raise Refused(409, f"{task} is {view.status}: it waits for you", f"ostler show {task}")
    require_turn(project, task, [task])
    if view.status in EXECUTABLE:
        check_ready(project, [project.task(task)])
    return view


def _say(project: Project, asked: Asked[Any, Any], verb: Callable[[TaskId], TaskView]) -> TaskView:
    """409 with the reason when it does not fit the task as it stands."""
    task = find_task(project, asked.path["task"])
    try:
        return verb(task)
    except Refused:
        raise
    except UsageError as error:
        raise Refused(409, error.message, error.hint, error.code) from None
