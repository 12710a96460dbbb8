"""The result of a tool: a text for the model, and the same content as JSON."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ostler.model.status import EXECUTABLE
from ostler.project.project import Project
from ostler.project.running.active_runs import list_active_runs
from ostler.views.next_step import next_step
from ostler.views.task import TaskView, as_json


class ToolResult(Struct, frozen=True):
    """The text for the model and the structured content."""

    text: str
    document: dict[str, Any]


class TaskResult(TaskView, frozen=True, kw_only=True):
    """A task (ostler.task/1) and what can be done next."""

    next: str


def describe_task(project: Project, view: TaskView, attempts: bool = False) -> ToolResult:
    """Return a task's status and next step; mentions when no run is active that would take it."""
    step = next_step(view)
    reason = f" ({view.code}: {view.message})" if view.code else ""
    sentences = [f"{view.id} is {view.status}{reason}."]
    if view.waits_for:
        sentences.append(f"It waits for {', '.join(view.waits_for)}.")
    if view.status in EXECUTABLE:
        sentences.append(_describe_runs(project))
    if step:
        sentences.append(f"Next: {step}")
    return ToolResult(" ".join(sentences), as_json(view, attempts) | {"next": step})


def _describe_runs(project: Project) -> str:
    runs = list_active_runs(project.layout)
    return f"A run is active (process {runs[0].pid})." if runs else no_run_message()


def no_run_message() -> str:
    """Return the note that nothing runs tasks now."""
    return (
        "No run is active in this project, and no tool starts one: "
        "`ostler run --all`, `ostler worker` or `ostler serve` does."
    )
