"""A task that another program writes down: the HTTP API and the MCP server ask for it in the same words."""

from __future__ import annotations

from typing import Protocol

from ostler.model.ids import TaskId
from ostler.model.task import Priority, Task, Weight
from ostler.project.agents import known_executor
from ostler.project.project import Project


class Submission(Protocol):
    """What both of them take."""

    @property
    def title(self) -> str: ...
    @property
    def body(self) -> str: ...
    @property
    def weight(self) -> Weight: ...
    @property
    def priority(self) -> Priority: ...
    @property
    def executor(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def skill(self) -> str: ...
    @property
    def after(self) -> tuple[str, ...]: ...
    @property
    def budget_usd(self) -> float | None: ...


def task_of(project: Project, said: Submission) -> Task:
    """The task, not added yet; raises UsageError for an executor that there is not."""
    if said.executor:
        known_executor(project.settings, said.executor)
    return Task(
        said.title,
        said.body,
        weight=said.weight,
        priority=said.priority,
        executor=said.executor,
        model=said.model,
        skill=said.skill,
        after=tuple(TaskId(one) for one in said.after),
        budget_usd=said.budget_usd,
        sender="person" if said.skill else "",
    )
