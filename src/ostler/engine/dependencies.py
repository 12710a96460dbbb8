"""Dependencies between tasks: what a task waits for, and what happens when that fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ostler.errors import Code
from ostler.model.attempt import TaskRow
from ostler.model.event import TaskBlocked, TaskReopened
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.model.state import Stage, State
from ostler.model.status import EXECUTABLE, TERMINAL, TaskStatus

TaskStatuses = Mapping[TaskId, str]
"""The status of each task that others depend on; a missing task was deleted."""

DONE = frozenset({TaskStatus.COMPLETED, TaskStatus.APPROVED})
_DELETED = "deleted"
_PASSED = ("completed", "skipped")
_FAILED: frozenset[str] = (TERMINAL - DONE) | {_DELETED}


def list_unmet(row: TaskRow, statuses: TaskStatuses) -> tuple[TaskId, ...]:
    """Return the dependencies that are not completed."""
    return tuple(task for task in row.after if statuses.get(task) not in DONE)


def find_dependency_event(
    row: TaskRow, statuses: TaskStatuses, stopped: str = ""
) -> TaskBlocked | TaskReopened | None:
    """Return the event that blocks or reopens a task because of others; None if nothing changes.

    `stopped` is another reason to block it: its pipeline was stopped, or a predecessor is done again.
    """
    if not row.after and not row.pipeline:
        return None
    reason = stopped or _find_failed_dependency(row, statuses)
    if reason and row.status in EXECUTABLE and not decode_state(row).cancel_requested:
        return TaskBlocked(Code.DEPENDENCY_FAILED, reason)
    if not reason and row.status == TaskStatus.BLOCKED and decode_state(row).code is Code.DEPENDENCY_FAILED:
        return TaskReopened(by="dependency")
    return None


def _find_failed_dependency(row: TaskRow, statuses: TaskStatuses) -> str:
    failed = [task for task in row.after if statuses.get(task, _DELETED) in _FAILED]
    if not failed or (row.after_any and len(failed) < len(row.after)):
        return ""
    return f"it depends on {failed[0]}, which is {statuses.get(failed[0], _DELETED)}"


def list_completed(predecessors: Iterable[State]) -> list[State]:
    """Return the predecessors with commits that a successor can start from."""
    return [one for one in predecessors if one.status in DONE and one.base and one.commit]


def find_redone_predecessor(state: State, predecessors: Mapping[TaskId, State]) -> str:
    """Return why a started task must wait or be rebased: a task that it builds on is done again.

    Empty if none is. The rule: the task is blocked until that one is completed again, then it is reopened,
    and its branch is rebased when its workspace is prepared.
    """
    for recorded in state.predecessors:
        current = predecessors.get(recorded.task) if recorded.task in state.after else None
        if current is None or state.order_only:
            continue
        if not all(phase.status in _PASSED for phase in current.phases):
            return f"it builds on {current.task}, which was reopened and is {current.status}"
        if current.status in DONE and current.commit != recorded.commit and _is_past_preparation(state):
            return f"it builds on {current.task}, which has new commits; its branch is rebased next"
    return ""


def _is_past_preparation(state: State) -> bool:
    """Return whether no step of the task would rebase its branch."""
    return state.status in EXECUTABLE and state.stage not in (Stage.NEW, Stage.READY)


def find_cycle(starts: Iterable[TaskId], after: Mapping[TaskId, tuple[TaskId, ...]]) -> list[TaskId]:
    """Return a cycle of dependencies as a path; empty if there is none."""
    path: list[TaskId] = []
    on_path, checked = set[TaskId](), set[TaskId]()
    left = [iter(starts)]
    while left:
        task = next(left[-1], None)
        if task is None:
            left.pop()
            if path:
                on_path.discard(path[-1])
                checked.add(path.pop())
        elif task in on_path:
            return [*path[path.index(task) :], task]
        elif task not in checked:
            path.append(task)
            on_path.add(task)
            left.append(iter(after.get(task, ())))
    return []
