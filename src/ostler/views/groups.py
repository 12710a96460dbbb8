"""The five groups of tasks on boards and in lists."""

from __future__ import annotations

from typing import Literal, get_args

from ostler.model.status import TaskStatus

Group = Literal["needs_you", "running", "waiting", "done", "ended"]
GROUPS: tuple[Group, ...] = get_args(Group)

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
