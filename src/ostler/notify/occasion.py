"""Which events of the feed a notification is sent for."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from ostler.clock import format_rfc3339
from ostler.config.settings import Moment
from ostler.errors import read_code
from ostler.model.event import FeedLine, decode_event
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus
from ostler.views.next_step import Situation, advise

# No notification: the person who paused the task does not need one.
_PAUSED_BY_PERSON = "paused by a person"


class _Kind(NamedTuple):
    moment: Moment
    status: TaskStatus


_S = TaskStatus
_KINDS: dict[str, _Kind] = {
    "gate_waiting": _Kind("needs_you", _S.NEEDS_REVIEW),
    "task_blocked": _Kind("needs_you", _S.BLOCKED),
    "task_paused": _Kind("needs_you", _S.PAUSED),
    "task_completed": _Kind("completed", _S.COMPLETED),
    "task_failed": _Kind("failed", _S.FAILED),
    "task_deferred": _Kind("limited", _S.DEFERRED),
}


class Occasion(Struct, frozen=True):
    """An event that a notification is sent for, with the commands to type."""

    position: int  # position of the event in the feed
    on: Moment
    at: float
    task: TaskId
    status: TaskStatus  # of the task after the event
    reason: str
    next: str  # from the event alone; message.py uses the whole task when it is still in this status


def occasion_of(line: FeedLine) -> Occasion | None:
    """Return the occasion of a feed line; None for other events, and for formats of newer versions."""
    event = decode_event(line)
    kind = _KINDS.get(event.type)
    by_person = event.type == "task_paused" and not event.code and event.message == _PAUSED_BY_PERSON
    if kind is None or by_person:
        return None
    code = read_code(event.code) if event.code else None
    resumes_at = None if event.resumes_at is None else format_rfc3339(event.resumes_at)
    task = Situation(id=line.task, status=kind.status, code=code, branch=event.commit, resumes_at=resumes_at)
    return Occasion(
        position=line.position,
        on=kind.moment,
        at=line.at,
        task=line.task,
        status=kind.status,
        reason=event.reason or event.message,
        next=advise(task).text,
    )
