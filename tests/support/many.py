"""A store with many tasks, written straight into the journal in one transaction."""

from __future__ import annotations

from ostler.engine.records import RULES, append_computed_event, create_task
from ostler.model.event import DecisionRecorded, TaskCreated
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.tasks.planning import plan_task
from world import World

BEGAN = 1.7e9


def _pause(_state: object) -> DecisionRecorded:
    return DecisionRecorded("pause")


def fill(world: World, count: int, name: str = "task", paused: int = 4) -> None:
    """`name-00000` and so on, the newest last; each `paused`th waits for a person."""
    with Project.open(world.root, {}, create=True) as project, project.journal.transaction():
        plan = plan_task(Task("x"), project.loaded, world.root)
        for number in range(count):
            id, priority = TaskId(f"{name}-{number:05d}"), f"P{number % 4}"
            task = Task(f"Task {number} of many", id=id, priority=priority)
            create_task(
                project.journal, TaskCreated(task, plan, RULES, f"{name}{number:032x}"), BEGAN + number
            )
            if number % paused == 0:
                append_computed_event(project.journal, task.id, _pause, BEGAN + number)
