"""A store with many tasks, written straight into the journal in one transaction."""

from __future__ import annotations

from ostler.engine.core.rules import RULES
from ostler.engine.records import append_computed_event, create_task
from ostler.errors import Code
from ostler.model.event import DecisionRecorded, TaskBlocked, TaskCreated, TaskFailed
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.tasks.planning import plan_task
from world import World

BEGAN = 1.7e9


def _pause(_state: object) -> DecisionRecorded:
    return DecisionRecorded("pause")


def _ask(_state: object) -> TaskBlocked:
    return TaskBlocked(Code.NEEDS_INPUT, "Which colour?")


def _fail(_state: object) -> TaskFailed:
    return TaskFailed(Code.AGENT_FAILED, "exit 1")


def fill_inbox(world: World, count: int, name: str = "asks") -> None:
    """Tasks that wait for a person: proposals, questions and failures in turn."""
    with Project.open(world.root, world.environ, create=True) as project, project.journal.transaction():
        plan = plan_task(Task("x"), project.loaded, world.root)
        for number in range(count):
            kind, at = number % 3, BEGAN + number
            task = Task(f"Task {number} asks", id=TaskId(f"{name}-{number:05d}"), priority=f"P{number % 4}")
            created = TaskCreated(task, plan, RULES, f"{name}{number:032x}", held=kind == 0)
            create_task(project.journal, created, at)
            if kind:
                append_computed_event(project.journal, task.id, _ask if kind == 1 else _fail, at)


def fill(world: World, count: int, name: str = "task", paused: int = 4) -> None:
    """`name-00000` and so on, the newest last; each `paused`th waits for a person."""
    with Project.open(world.root, world.environ, create=True) as project, project.journal.transaction():
        plan = plan_task(Task("x"), project.loaded, world.root)
        for number in range(count):
            id, priority = TaskId(f"{name}-{number:05d}"), f"P{number % 4}"
            task = Task(f"Task {number} of many", id=id, priority=priority)
            create_task(
                project.journal, TaskCreated(task, plan, RULES, f"{name}{number:032x}"), BEGAN + number
            )
            if number % paused == 0:
                append_computed_event(project.journal, task.id, _pause, BEGAN + number)
