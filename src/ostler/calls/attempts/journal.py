"""The part of the journal that a call uses to record its attempts."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol, assert_never

from ostler.executors.todos import find_todos
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
    ThinkingReceived,
    TodosReported,
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
    TodosReportedNotice,
    ToolUsedNotice,
    UsageNotice,
)
from ostler.model.usage import Usage
from ostler.store.spending import SpentAmount, amount_of, day_start

_UNNOTICED = (TextReceived, ToolReturned, ThinkingReceived)  # most events


class AttemptJournal(Protocol):
    """Records attempts; a RunWriter is one."""

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


def create_notices(events: Iterable[AgentEvent]) -> list[Notice]:
    """Return what the feed records of an agent's events; their usage is one sum, at the end."""
    notices, usage = list[Notice](), Usage()
    for event in events:
        if isinstance(event, UsageReported):
            usage += event.usage
        elif not isinstance(event, _UNNOTICED):
            notices += _create_notices(event)
    return [*notices, UsageNotice(usage)] if usage != Usage() else notices


def _create_notices(event: AgentEvent) -> tuple[Notice, ...]:
    match event:
        case ToolUsed(tool=tool, detail=detail):
            todos = find_todos(tool, event.input)
            return (ToolUsedNotice(tool, detail), *((TodosReportedNotice(todos),) if todos else ()))
        case TodosReported(todos=todos):
            return (TodosReportedNotice(todos),)
        case ToolDenied(tool=tool, detail=detail):
            return (ToolUsedNotice(tool, detail, denied=True),)
        case LineSkipped(detail=detail):
            return (ParseError(detail),)
        case SessionReplaced(session_id=session, resumed=resumed):
            return (SessionReplacedNotice(session, resumed),)
        case WarningRaised(message=message):
            return (AgentWarned(message),)
        case AccessRefused(kind=kind, target=target, setting=setting):
            return (AccessRefusedNotice(kind, target, setting),)
        case SessionStarted() | TextReceived() | ThinkingReceived() | UsageReported():
            return ()
        case ToolReturned() | RetryReported() | LimitReported():
            return ()
        case _:
            assert_never(event)
