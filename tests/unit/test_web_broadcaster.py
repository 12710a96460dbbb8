"""One watcher wakes all clients; each receives every line once, from any position."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from journal_values import OTHER, TASK
from ostler.model.ids import TaskId
from ostler.model.notice import AgentWarned
from ostler.store.sqlite.journal import SqliteJournal
from ostler.web.broadcaster import EventBroadcaster


@pytest.fixture
def path(tmp_path: Path) -> Path:
    SqliteJournal(tmp_path / "ostler.db", create=True).close()
    return tmp_path / "ostler.db"


@pytest.fixture
def writer(path: Path) -> Iterator[SqliteJournal]:
    with SqliteJournal(path) as journal:
        yield journal


@contextmanager
def broadcasting(path: Path) -> Generator[EventBroadcaster]:
    """The broadcaster of a journal, whose threads end before the journal is closed."""
    with SqliteJournal(path) as journal:
        broadcaster = EventBroadcaster(journal, lambda: SqliteJournal(path))
        try:
            yield broadcaster
        finally:
            broadcaster.close()
            broadcaster.close_threads()


def write(journal: SqliteJournal, count: int, task: TaskId = TASK) -> None:
    journal.notify(task, 1.0, [AgentWarned(str(number)) for number in range(count)])


async def listen(
    broadcaster: EventBroadcaster, after: int, until: int, task: TaskId | None = None
) -> list[int]:
    """Receive lines as a stream does, up to a position."""
    received: list[int] = []
    async with asyncio.timeout(30):
        while after < until:
            mark = broadcaster.change_count
            while lines := await broadcaster.read(after, task):
                after = lines[-1].position
                received += [line.position for line in lines]
            if after < until:
                await broadcaster.wait_for_change(mark, 1.0)
    return received


@pytest.mark.parametrize("bursts", [[1] * 30, [250, 3, 700, 1], [199, 200, 201], [2000]])
def test_no_client_misses_a_line(path: Path, writer: SqliteJournal, bursts: list[int]) -> None:
    """For any order of lines: early clients, late clients, and a client that begins in the middle."""
    total = sum(bursts)

    async def play() -> list[list[int]]:
        with broadcasting(path) as broadcaster:
            clients = [asyncio.create_task(listen(broadcaster, after, total)) for after in (0, 0, total // 2)]
            for burst in bursts:
                write(writer, burst)
                await asyncio.sleep(0.006)
            clients.append(asyncio.create_task(listen(broadcaster, 0, total)))
            return await asyncio.gather(*clients)

    received = asyncio.run(play())
    assert received[0] == received[1] == received[3] == list(range(1, total + 1))
    assert received[2] == list(range(total // 2 + 1, total + 1))


def test_the_feed_of_one_task(path: Path, writer: SqliteJournal) -> None:
    """No lines of other tasks, from the shared page or from the store."""

    async def play() -> tuple[list[int], list[int]]:
        with broadcasting(path) as broadcaster:
            write(writer, 300, OTHER)
            write(writer, 2)
            far = asyncio.create_task(listen(broadcaster, 0, 302, TASK))
            near = asyncio.create_task(listen(broadcaster, 300, 304, TASK))
            await far
            write(writer, 2)
            return far.result(), await near

    assert asyncio.run(play()) == ([301, 302], [301, 302, 303, 304])


def test_without_clients_no_watcher_runs(path: Path, writer: SqliteJournal) -> None:
    """The watcher ends with the last waiting client, and starts again with the next."""

    async def play() -> None:
        with broadcasting(path) as broadcaster:
            for position in (1, 2):
                write(writer, 1)
                assert await listen(broadcaster, position - 1, position) == [position]
                async with asyncio.timeout(30):
                    while broadcaster._watcher is not None:
                        await asyncio.sleep(0.005)

    asyncio.run(play())


def test_the_end_lets_everyone_go(path: Path) -> None:
    """Waiting clients are woken, and receive the end."""

    async def play() -> bool:
        with broadcasting(path) as broadcaster:
            while await broadcaster.wait_for_change(broadcaster.change_count, 0.05):
                continue
            waiting = asyncio.create_task(broadcaster.wait_for_change(broadcaster.change_count, 60))
            await asyncio.sleep(0)
            broadcaster.close()
            return await waiting and broadcaster.closed

    assert asyncio.run(play())
