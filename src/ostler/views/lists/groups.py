"""The five groups of tasks on boards and in lists, and the finer sections of lists in a terminal."""

from __future__ import annotations

from typing import Literal, get_args

from ostler.errors import Code
from ostler.model.policy.needs import find_need
from ostler.model.status import TaskStatus

Group = Literal["needs_you", "running", "waiting", "done", "ended"]
GROUPS: tuple[Group, ...] = get_args(Group)
Section = Literal["question", "review", "failed", "running", "waiting", "paused", "done", "ended"]
"""What a task needs from a person, or else its group."""
SECTIONS: tuple[Section, ...] = get_args(Section)
TITLES: dict[Section, str] = {
    "question": "Questions",
    "review": "Reviews",
    "failed": "Failed",
    "running": "Running",
    "waiting": "Waiting",
    "paused": "Paused by you",
    "done": "Done",
    "ended": "Ended",
}

_S = TaskStatus
_GROUP_OF: dict[str, Group] = {
    _S.NEEDS_REVIEW: "needs_you",
    _S.BLOCKED: "needs_you",
    _S.PAUSED: "needs_you",
    _S.IN_PROGRESS: "running",
    _S.PENDING: "waiting",
    _S.ASSIGNED: "waiting",
    _S.REVISION: "waiting",
    _S.DEFERRED: "waiting",
    _S.COMPLETED: "done",
    _S.APPROVED: "done",
    _S.FAILED: "ended",
    _S.QUARANTINED: "ended",
    _S.CANCELLED: "ended",
    _S.ABANDONED: "ended",
}


def group_of(status: str) -> Group:
    return _GROUP_OF[status]


def section_of(status: TaskStatus, code: Code | None, *, needs_nobody: bool = False) -> Section:
    """Return the section of a task; `needs_nobody`: it is hidden, or a run is about to end it."""
    need = None if needs_nobody else find_need(status, code)
    if need is not None:
        return need
    group = group_of(status)
    return "waiting" if group == "needs_you" else group
