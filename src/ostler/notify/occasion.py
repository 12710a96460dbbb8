"""Which events of the feed a notification is sent for."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ostler.clock import format_rfc3339
from ostler.config.settings import Moment
from ostler.errors import CODES, Code, Origin, needs_account_fix, read_code
from ostler.model.event import FeedEvent, FeedLine, decode_event
from ostler.model.ids import TaskId
from ostler.model.limits.titles import window_title
from ostler.model.status import TaskStatus
from ostler.views.next_step import Situation, advise

# No notification: the person who paused the task does not need one.
_PAUSED_BY_PERSON = "paused by a person"
_PROPOSED = "an agent proposed it"


class _Kind(NamedTuple):
    moment: Moment
    status: TaskStatus


_S = TaskStatus
_KINDS: dict[str, _Kind] = {
    "task_created": _Kind("needs_you", _S.NEEDS_REVIEW),  # only a proposal
    "gate_waiting": _Kind("needs_you", _S.NEEDS_REVIEW),
    "review_reminded": _Kind("needs_you", _S.NEEDS_REVIEW),
    "task_blocked": _Kind("needs_you", _S.BLOCKED),
    "task_paused": _Kind("needs_you", _S.PAUSED),
    "task_completed": _Kind("completed", _S.COMPLETED),
    "task_failed": _Kind("failed", _S.FAILED),
    "task_deferred": _Kind("limited", _S.DEFERRED),
    "provider_unavailable": _Kind("limited", _S.DEFERRED),
    "model_recovered": _Kind("back", _S.IN_PROGRESS),
}

OCCASION_TYPES = frozenset(_KINDS)  # other events have no occasion


def _is_reported(code: Code | None) -> bool:
    """Return whether provider_unavailable is the one notification for all tasks that it defers."""
    return code is not None and CODES[code].origin is Origin.PROVIDER


class LimitDetails(Struct, frozen=True):
    """The window of an account that was closed or is open again."""

    account: str  # on screens
    window: str  # five_hour, login, ...
    title: str  # of the window, on screens
    until: str | None  # the reset, or the time of the next probe; null: it is open again
    waiting: int = 0  # tasks of the project that wait, at the time of the message


class Occasion(Struct, frozen=True):
    """An event that a notification is sent for, with the commands to type."""

    position: int  # position of the event in the feed
    on: Moment
    at: float
    task: TaskId
    status: TaskStatus  # of the task after the event
    reason: str
    next: str  # from the event alone; message.py uses the whole task when it is still in this status
    limit: LimitDetails | None = None


def find_shared_end(line: FeedLine) -> float | None:
    """Return the end of the day's budget, which defers many tasks with one notification; None: not one."""
    event = decode_event(line)
    is_budget = event.type == "task_deferred" and event.code == Code.BUDGET_EXCEEDED
    return event.resumes_at if is_budget else None


def occasion_of(line: FeedLine) -> Occasion | None:
    """Return the occasion of a feed line; None for other events, and for formats of newer versions."""
    event = decode_event(line)
    kind = _KINDS.get(event.type)
    by_person = (event.type == "task_created" and not event.held) or (
        event.type == "task_paused" and not event.code and event.message == _PAUSED_BY_PERSON
    )
    code = read_code(event.code) if event.code else None
    if kind is None or by_person or (event.type == "task_deferred" and _is_reported(code)):
        return None
    # A window that was closed for seconds, or a cooldown, was not reported before.
    if event.type == "model_recovered" and not event.reported:
        return None
    if event.type == "provider_unavailable" and needs_account_fix(code):
        kind = _Kind("needs_you", _S.PENDING)
    resumes_at = None if event.resumes_at is None else format_rfc3339(event.resumes_at)
    task = Situation(id=line.task, status=kind.status, code=code, branch=event.commit, resumes_at=resumes_at)
    task = replace(task, held=event.held)
    return Occasion(
        position=line.position,
        on=kind.moment,
        at=line.at,
        task=line.task,
        status=kind.status,
        reason=_PROPOSED if event.held else event.reason or event.message,
        next=advise(task).text,
        limit=_find_limit(event),
    )


def _find_limit(event: FeedEvent) -> LimitDetails | None:
    if not event.account:
        return None
    until = None if event.until is None else format_rfc3339(event.until)
    return LimitDetails(event.account, event.window, window_title(event.window), until)
