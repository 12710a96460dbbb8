"""What a tool gives back: a sentence for the model, and the same as a document."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.project.at_work import Run, runs_at_work
from ostler.project.project import Project
from ostler.views.task import TaskView, as_json

_S = TaskStatus
_NEXT = {
    _S.NEEDS_REVIEW: "A person decides: `ostler diff {id}` shows it; then approve, or reject with text.",
    _S.BLOCKED: "Its agent needs help: resume with text answers it; `ostler log {id}` has what it said.",
    _S.PAUSED: "It rests: resume lets it go on.",
    _S.DEFERRED: "A limit holds it until {resumes_at}; a run goes on with it then.",
    _S.FAILED: "`ostler log {id}` has what was said; retry opens it again.",
    _S.QUARANTINED: "It failed too often: mend the cause that `ostler log {id}` shows, then retry.",
    _S.CANCELLED: "What it did is kept; retry opens it again.",
    _S.IN_PROGRESS: "A run has it in hand, and acts on what was said; show tells how far it is.",
}


class Answer(Struct, frozen=True):
    text: str
    document: dict[str, Any]


class Standing(TaskView, frozen=True, kw_only=True):
    """A task (ostler.task/1), and what can be done about it."""

    next: str


def told(project: Project, view: TaskView, attempts: bool = False) -> Answer:
    """How a task stands, and what comes next; it says so where nobody is at work."""
    step = next_words(view, runs_at_work(project.layout))
    why = f" ({view.code}: {view.message})" if view.code else ""
    return Answer(
        f"{view.id} is {view.status}{why}. {step}".strip(), as_json(view, attempts) | {"next": step}
    )


def next_words(view: TaskView, runs: list[Run]) -> str:
    if view.status in EXECUTABLE:
        return _begins(view, runs)
    if view.status is _S.COMPLETED:
        return _result(view)
    return _NEXT.get(view.status, "").format(id=view.id, resumes_at=view.resumes_at)


def _begins(view: TaskView, runs: list[Run]) -> str:
    first = f"It begins after {', '.join(view.waits_for)}. " if view.waits_for else ""
    if not runs:
        return f"{first}{nobody(view.id)}"
    return f"{first}A run is at work (process {runs[0].pid}); `ostler run {view.id}` if that one leaves it."


def _result(view: TaskView) -> str:
    if view.output_path:
        return f"Its document is {view.output_path}."
    return (
        f"Its work is on the branch {view.branch}; `ostler diff {view.id}` shows it." if view.branch else ""
    )


def nobody(task: str = "--all") -> str:
    return (
        "No run is at work in this project, and no tool here starts one: "
        f"`ostler run {task}`, `ostler worker` or `ostler serve` does."
    )
