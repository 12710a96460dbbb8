"""Creates a task from a request of the HTTP API or the MCP server."""

from __future__ import annotations

from typing import Protocol

from ostler.model.ids import TaskId
from ostler.model.task import PriorityName, Task, Weight, to_priority


class Submission(Protocol):
    """The fields that both accept."""

    @property
    def title(self) -> str: ...
    @property
    def body(self) -> str: ...
    @property
    def weight(self) -> Weight: ...
    @property
    def priority(self) -> PriorityName: ...
    @property
    def executor(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def skill(self) -> str: ...
    @property
    def after(self) -> tuple[str, ...]: ...
    @property
    def order_only(self) -> bool: ...
    @property
    def budget_usd(self) -> float | None: ...
    @property
    def timeout_seconds(self) -> float | None: ...
    @property
    def max_retries(self) -> int | None: ...
    @property
    def label(self) -> str: ...


def create_task(submission: Submission) -> Task:
    """Return the task without adding it."""
    return Task(
        submission.title,
        submission.body,
        weight=submission.weight,
        priority=to_priority(submission.priority),
        executor=submission.executor,
        model=submission.model,
        skill=submission.skill,
        after=tuple(TaskId(one) for one in submission.after),
        order_only=submission.order_only,
        budget_usd=submission.budget_usd,
        timeout_seconds=submission.timeout_seconds,
        max_retries=submission.max_retries,
        label=submission.label,
        sender="person" if submission.skill else "",
    )
