"""Which command leads to a status: a status is the result of decisions and is never set."""

from __future__ import annotations

from ostler.model.status import REOPENABLE, SPELLINGS, TERMINAL, TaskStatus

_S = TaskStatus
_COMMANDS: dict[TaskStatus, str] = {
    _S.PENDING: "ostler retry {id}   or   ostler resume {id}",
    _S.ASSIGNED: "ostler run {id}",
    _S.IN_PROGRESS: "ostler run {id}",
    _S.PAUSED: "ostler pause {id}",
    _S.NEEDS_REVIEW: 'a gate asks for a review: [gates.phases] PHASE = "human"',
    _S.REVISION: "ostler reject {id} -m TEXT",
    _S.BLOCKED: "ostler pause {id}",
    _S.DEFERRED: "ostler set {id} not_before=TIME",
    _S.COMPLETED: "ostler approve {id}   or   ostler skip {id} --phase PHASE --reason TEXT",
    _S.APPROVED: "ostler approve {id}",
    _S.FAILED: "ostler cancel {id}",
    _S.QUARANTINED: "ostler cancel {id}",
    _S.CANCELLED: "ostler cancel {id}",
    _S.ABANDONED: "ostler cancel {id}",
}


def reopen_command(task: str, status: TaskStatus) -> str:
    """Return the command that makes an ended task pending again."""
    return f"ostler retry {task}" if status in REOPENABLE else f"ostler rewind {task} --to PHASE"


def find_command(task: str, text: str, now: TaskStatus) -> str:
    """Return the command that leads a task with the status `now` to the named status, or those that exist."""
    word = text.strip().strip("\"'").casefold()
    status = SPELLINGS.get(word) or next((one for one in TaskStatus if one == word), None)
    if status is None:
        return f"ostler approve, reject, resume, retry, pause, cancel, skip or rewind {task}"
    if now in TERMINAL and status not in TERMINAL:
        return reopen_command(task, now)
    return _COMMANDS[status].format(id=task)
