"""Where a call writes down its attempts."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Sequence
from typing import Protocol

from ostler.model.attempt import Attempt
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.store.spending import Spent, day_start, spent


class Diary(Protocol):
    """The part of the journal that a call needs; a GroupWriter is one."""

    @property
    def store_id(self) -> str: ...

    def begin(self, attempt: Attempt) -> Awaitable[int]:
        """The attempt's number; durable when awaited."""
        ...

    def learn(self, task: TaskId, number: int, session_id: str) -> object:
        """The agent has named its session."""
        ...

    def notify(self, task: TaskId, at: float, notices: Sequence[Notice]) -> object: ...

    def end(self, attempt: Attempt) -> Awaitable[bool]: ...


class MemoryDiary:
    """For a call outside any project: kept as long as the object."""

    def __init__(self) -> None:
        self.store_id = uuid.uuid4().hex  # marks its agents: none of another is ended for one of ours
        self.attempts: list[Attempt] = []
        self.notices: list[Notice] = []

    async def begin(self, attempt: Attempt) -> int:
        self.attempts.append(attempt)
        return len(self.attempts)

    def learn(self, task: TaskId, number: int, session_id: str) -> None:
        """The end knows it too, and nothing here outlives the call."""

    def notify(self, task: TaskId, at: float, notices: Sequence[Notice]) -> None:
        self.notices.extend(notices)

    async def end(self, attempt: Attempt) -> bool:
        self.attempts[attempt.number - 1] = attempt
        return True

    def spent_on(self, task: TaskId) -> Spent:
        return sum((spent(one) for one in self.attempts if one.task == task), Spent())

    def spent_today(self, now: float) -> Spent:
        began = day_start(now)
        return sum((spent(one) for one in self.attempts if one.started_at >= began), Spent())
