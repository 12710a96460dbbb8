"""What the tools do outside of a task: the verbs of the command line, none of which starts an agent."""

from __future__ import annotations

import asyncio
import os

from ostler.mcp_server import arguments as given
from ostler.mcp_server.answer import Answer, told
from ostler.model.ids import TaskId
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from ostler.project.submission import task_of


def submit(project: Project, asked: given.Submit) -> Answer:
    return told(project, project.show(project.add(task_of(project, asked)).id))


def show(project: Project, asked: given.One) -> Answer:
    return told(project, project.show(project.resolve(asked.id)), attempts=True)


def approve(project: Project, asked: given.Approve) -> Answer:
    return told(project, project.approve(project.resolve(asked.id), asked.text))


def reject(project: Project, asked: given.Reject) -> Answer:
    return told(project, project.reject(project.resolve(asked.id), asked.text))


def cancel(project: Project, asked: given.Cancel) -> Answer:
    task = project.resolve(asked.id)
    project.cancel(task, asked.reason)
    asyncio.run(_settle(project, task))
    return told(project, project.show(task))


def resume(project: Project, asked: given.Resume) -> Answer:
    return told(project, project.resume(project.resolve(asked.id), asked.text))


def pause(project: Project, asked: given.One) -> Answer:
    return told(project, project.pause(project.resolve(asked.id)))


def retry(project: Project, asked: given.Retry) -> Answer:
    return told(project, project.retry(project.resolve(asked.id), asked.budget_usd))


async def _settle(project: Project, task: TaskId) -> None:
    """A task that no run has in hand is ended here; no agent is started."""
    ostler = Ostler(project, os.environ)
    try:
        await ostler.settle(task)
    finally:
        await ostler.close()
