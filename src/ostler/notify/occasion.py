"""Which lines of the feed a person is told of."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ostler.config.settings import Moment
from ostler.model.event import FeedLine
from ostler.model.ids import TaskId

_BY_PERSON = "paused by a person"  # who does so knows of it
_MOMENTS: dict[str, Moment] = {
    "gate_waiting": "needs_you",
    "task_blocked": "needs_you",
    "task_paused": "needs_you",
    "task_completed": "completed",
    "task_failed": "failed",
    "task_deferred": "limited",
}
_NEXT = {
    "gate_waiting": "ostler approve {task}",
    "task_blocked": "ostler resume {task} -m TEXT",
    "task_paused": "ostler resume {task}",
    "task_completed": "ostler show {task}",
    "task_failed": "ostler retry {task}",
    "task_deferred": "ostler run {task}",
}


class Occasion(Struct, frozen=True):
    """Something that happened to a task, and what a person can type then."""

    position: int  # of its event in the feed
    on: Moment
    at: float
    task: TaskId
    reason: str
    next: str


class _Told(Struct):
    """What is read of any line; the rest of it is passed over."""

    type: str
    code: str | None = None
    message: str = ""
    reason: str = ""


_read = msgspec.json.Decoder(_Told).decode


def occasion_of(line: FeedLine) -> Occasion | None:
    """The occasion that a line is; None for most, and for what a newer version wrote in another way."""
    try:
        told = _read(line.body)
    except msgspec.ValidationError:
        return None
    moment = _MOMENTS.get(told.type)
    if moment is None or (told.type == "task_paused" and told.code is None and told.message == _BY_PERSON):
        return None
    reason = told.reason or told.message
    return Occasion(
        line.position, moment, line.at, line.task, reason, _NEXT[told.type].format(task=line.task)
    )
