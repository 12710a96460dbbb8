"""The part of the journal that a call uses to record its attempts."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Sequence
from typing import Protocol, assert_never

from ostler.model.attempt import Attempt
from ostler.model.call import (
    AccessRefused,
    AgentEvent,
    LimitReported,
    LineSkipped,
    RetryReported,
    SessionReplaced,
    SessionStarted,
    TextReceived,
    ToolDenied,
    ToolReturned,
    ToolUsed,
    UsageReported,
    WarningRaised,
)
from ostler.model.ids import TaskId
from ostler.model.notice import (
    AccessRefusedNotice,
    AgentWarned,
    Notice,
    ParseError,
    SessionReplacedNotice,
    ToolUsedNotice,
    UsageNotice,
)
from ostler.store.spending import SpentAmount, amount_of, day_start


class AttemptJournal(Protocol):
    """Records attempts; a GroupWriter is one."""

    @property
    def store_id(self) -> str: ...

    def begin_attempt(self, attempt: Attempt) -> Awaitable[int]:
        """Record the start of an attempt durably; return its number."""
        ...

    def set_session(self, task: TaskId, number: int, session_id: str) -> object:
        """Record the session id that the agent reported."""
        ...

    def notify(self, task: TaskId, at: float, notices: Sequence[Notice]) -> object: ...

    def end_attempt(self, attempt: Attempt) -> Awaitable[bool]: ...


class MemoryAttemptJournal:
    """Records the attempts of calls outside a project, in memory."""

    def __init__(self) -> None:
        # Part of the marker of its agents: the leftovers of another journal are not killed.
        self.store_id = uuid.uuid4().hex
        self.attempts: list[Attempt] = []
        self.notices: list[Notice] = []

    async def begin_attempt(self, attempt: Attempt) -> int:
        self.attempts.append(attempt)
        return len(self.attempts)

    def set_session(self, task: TaskId, number: int, session_id: str) -> None:
        """Do nothing: the ended attempt has the session id, and nothing here outlives the process."""

    def notify(self, task: TaskId, at: float, notices: Sequence[Notice]) -> None:
        self.notices.extend(notices)

    async def end_attempt(self, attempt: Attempt) -> bool:
        self.attempts[attempt.number - 1] = attempt
        return True

    def spent_on(self, task: TaskId) -> SpentAmount:
        return sum((amount_of(one) for one in self.attempts if one.task == task), SpentAmount())

    def spent_today(self, now: float) -> SpentAmount:
        since = day_start(now)
        return sum((amount_of(one) for one in self.attempts if one.started_at >= since), SpentAmount())


def create_notices(event: AgentEvent) -> tuple[Notice, ...]:
    """Return what the feed records of an agent's event."""
    match event:
        case ToolUsed(tool=tool, detail=detail):
            return (ToolUsedNotice(tool, detail),)
        case ToolDenied(tool=tool, detail=detail):
            return (ToolUsedNotice(tool, detail, denied=True),)
        case UsageReported(usage=usage):
            return (UsageNotice(usage),)
        case LineSkipped(detail=detail):
            return (ParseError(detail),)
        case SessionReplaced(session_id=session, resumed=resumed):
            return (SessionReplacedNotice(session, resumed),)
        case WarningRaised(message=message):
            return (AgentWarned(message),)
        case AccessRefused(kind=kind, target=target, setting=setting):
            return (AccessRefusedNotice(kind, target, setting),)
        case SessionStarted() | TextReceived() | ToolReturned() | RetryReported() | LimitReported():
            return ()
        case _:
            assert_never(event)
