"""Merges completed tasks into their target, in the order of their dependencies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from ostler.engine.core.requests import NOT_PUBLISHED
from ostler.errors import UsageError
from ostler.git.refs import find_base
from ostler.git.repository import Repository
from ostler.git.stack import Work, is_contained
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.project.actions import waits_to_be_merged
from ostler.project.project import Project

MergeResult = Literal["merged", "already merged", "needs you", "failed", "not merged"]
_RESULTS: dict[TaskStatus, MergeResult] = {
    TaskStatus.COMPLETED: "merged",
    TaskStatus.FAILED: "failed",
    TaskStatus.QUARANTINED: "failed",
}


class MergeLine(Struct, frozen=True):
    """The result of merging one task."""

    id: TaskId
    result: MergeResult
    commit: str | None
    gates: str  # the verdicts on the merged commit
    message: str


def order_for_merge(project: Project, named: Iterable[TaskId]) -> list[TaskId]:
    """Return these tasks and those that they build on, predecessors first.

    Raises UsageError for a task that is not completed.
    """
    ordered: list[TaskId] = []
    for task in named:
        _add_in_order(project, task, ordered)
    return ordered


def is_merged(project: Project, task: TaskId) -> bool:
    """Return whether the target already contains the work of a task."""
    state, repository = project.state(task), _require_repository(project)
    target = find_base(repository, project.settings.git.target or state.target or "").commit
    assert state.base is not None and state.commit is not None
    return is_contained(repository, Work(task, state.base, state.commit), target)


def find_unmerged_predecessor(project: Project, task: TaskId, failed: Iterable[TaskId]) -> str:
    """Return a task that this one builds on and that was not merged; empty if there is none."""
    builds_on = {one.task for one in project.state(task).predecessors}
    return next((one for one in failed if one in builds_on), "")


def describe_merge(project: Project, task: TaskId) -> MergeLine:
    """Return the result of a task after its merge was tried."""
    state = project.state(task)
    result = _RESULTS.get(state.status, "needs you")
    if state.status is TaskStatus.COMPLETED and state.message:
        result = "failed" if state.message.startswith(NOT_PUBLISHED) else "not merged"
    gates = ", ".join(_list_gates(state))
    return MergeLine(task, result, state.commit, gates, state.message or _describe_place(state))


def _describe_place(state: State) -> str:
    return f"into {state.published_into}" if state.published_into else ""


def _list_gates(state: State) -> Iterable[str]:
    """Yield the verdicts of gates that checked the last commit."""
    for phase in state.phases:
        if phase.gate is not None and phase.gate.sha == state.commit:
            yield f"{phase.id}: {phase.gate.verdict}"
    if state.merge is not None and state.merge.sha == state.commit:
        yield f"merge: {state.merge.verdict}"


def _add_in_order(project: Project, task: TaskId, ordered: list[TaskId]) -> None:
    if task in ordered:
        return
    state = project.state(task)
    mergeable = state.status is TaskStatus.COMPLETED or waits_to_be_merged(state)
    if not mergeable or state.base is None or state.commit is None:
        what = "has no commit" if mergeable else f"is {state.status}"
        raise UsageError(
            f"{task} {what}: only completed tasks with a commit can be merged", f"ostler show {task}"
        )
    for predecessor in state.predecessors:
        if not predecessor.merged:
            _add_in_order(project, predecessor.task, ordered)
    ordered.append(task)


def _require_repository(project: Project) -> Repository:
    repository = project.repository()
    if repository is None:
        raise UsageError("the project is not a git repository, so nothing can be merged", "git init")
    if not project.settings.git.worktree:
        raise UsageError(
            "git.worktree is false, and a merge needs worktrees",
            "ostler config reset git.worktree   or   git merge the branch that ostler show prints",
        )
    return repository
