"""The board of a cluster: when it reads the list of tasks, and how it ends."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from ostler.engine.temporal.board_run import BoardRun, BoardRuns
from ostler.engine.temporal.give_back import GivenBack
from ostler.engine.temporal.names import BoardOrder
from ostler.model.attempt import TaskRow
from ostler.process.lease import Lease


class SlowJournal:
    """A journal without active tasks; reading those that wait for a person takes half a second."""

    listing = SimpleNamespace(dependent=list)

    def __init__(self) -> None:
        self.seconds = 100.0
        self.error: Exception | None = None

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> float:
        return self.seconds

    def open_rows(self) -> list[TaskRow]:
        if self.error is not None:
            raise self.error
        self.seconds += 0.5
        return []

    def active_rows(self) -> list[TaskRow]:
        self.seconds += 0.1
        return []


async def start(*_: object, **__: object) -> bool:
    return True


def open_board(journal: SlowJournal) -> BoardRun:
    services: Any = SimpleNamespace(journal=journal, clock=journal)
    runs = BoardRuns(services, start, 5.0, lambda: None, lambda _: None)
    return runs.open(BoardOrder("ostler", 5.0), Lease(60))


def test_a_decision_does_not_wait_because_the_whole_list_was_read() -> None:
    """The pause after a read depends on its cost, except after the rare reads of all tasks."""
    journal = SlowJournal()
    board = open_board(journal)
    asyncio.run(board._look())  # the first look reads the whole list
    board.wake()
    assert board._find_pause() < 0.1
    journal.seconds += 1
    asyncio.run(board._look())
    board.wake()
    assert board._find_pause() == pytest.approx(0.3)


def test_an_error_of_the_board_is_not_sent_to_the_server(caplog: pytest.LogCaptureFixture) -> None:
    """Its text can be that of a task: the server gets one word, and the worker logs the error."""
    journal = SlowJournal()
    journal.error = ValueError("the title of a task")
    with caplog.at_level(logging.ERROR), pytest.raises(GivenBack) as end:
        asyncio.run(open_board(journal).run())
    assert (str(end.value), end.value.reason) == ("failed", "failed")
    assert "the title of a task" in caplog.text
