"""One watcher wakes all clients; each hears every line once, from wherever it begins."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from journal_values import OTHER, TASK
from ostler.model.ids import TaskId
from ostler.model.notice import AgentWarned
from ostler.store.sqlite import SqliteJournal
from ostler.web.broadcaster import EventBroadcaster


@pytest.fixture
def path(tmp_path: Path) -> Path:
    SqliteJournal(tmp_path / "ostler.db", create=True).close()
    return tmp_path / "ostler.db"


@pytest.fixture
def writer(path: Path) -> Iterator[SqliteJournal]:
    with SqliteJournal(path) as journal:
        yield journal


def write(journal: SqliteJournal, count: int, task: TaskId = TASK) -> None:
    journal.notify(task, 1.0, [AgentWarned(str(number)) for number in range(count)])


async def listen(tide: EventBroadcaster, after: int, until: int, task: TaskId | None = None) -> list[int]:
    """As a stream does, up to a position."""
    heard: list[int] = []
    async with asyncio.timeout(30):
        while after < until:
            mark = tide.change_count
            while lines := tide.read(after, task):
                after = lines[-1].position
                heard += [line.position for line in lines]
            if after < until:
                await tide.wait_for_change(mark, 1.0)
    return heard


@pytest.mark.parametrize("bursts", [[1] * 30, [250, 3, 700, 1], [199, 200, 201], [2000]])
def test_nobody_misses_a_line(path: Path, writer: SqliteJournal, bursts: list[int]) -> None:
    """However the lines come: early clients, late ones, and one who begins in the middle."""
    total = sum(bursts)

    async def play() -> list[list[int]]:
        with SqliteJournal(path) as journal:
            tide = EventBroadcaster(journal)
            clients = [asyncio.create_task(listen(tide, after, total)) for after in (0, 0, total // 2)]
            for burst in bursts:
                write(writer, burst)
                await asyncio.sleep(0.006)
            clients.append(asyncio.create_task(listen(tide, 0, total)))
            return await asyncio.gather(*clients)

    heard = asyncio.run(play())
    assert heard[0] == heard[1] == heard[3] == list(range(1, total + 1))
    assert heard[2] == list(range(total // 2 + 1, total + 1))


def test_the_feed_of_one_task(path: Path, writer: SqliteJournal) -> None:
    """Nothing of others, whether read from the shared page or from the store."""

    async def play() -> tuple[list[int], list[int]]:
        with SqliteJournal(path) as journal:
            tide = EventBroadcaster(journal)
            write(writer, 300, OTHER)
            write(writer, 2)
            far = asyncio.create_task(listen(tide, 0, 302, TASK))
            near = asyncio.create_task(listen(tide, 300, 304, TASK))
            await far
            write(writer, 2)
            return far.result(), await near

    assert asyncio.run(play()) == ([301, 302], [301, 302, 303, 304])


def test_without_clients_nobody_looks(path: Path, writer: SqliteJournal) -> None:
    """The watcher ends with the last one who waits, and comes back with the next."""

    async def play() -> None:
        with SqliteJournal(path) as journal:
            tide = EventBroadcaster(journal)
            for position in (1, 2):
                write(writer, 1)
                assert await listen(tide, position - 1, position) == [position]
                async with asyncio.timeout(30):
                    while tide._watcher is not None:
                        await asyncio.sleep(0.005)

    asyncio.run(play())


def test_the_end_lets_everyone_go(path: Path) -> None:
    """Who waits is woken, and is told that it is over."""

    async def play() -> bool:
        with SqliteJournal(path) as journal:
            tide = EventBroadcaster(journal)
            while await tide.wait_for_change(tide.change_count, 0.05):
                continue
            waiting = asyncio.create_task(tide.wait_for_change(tide.change_count, 60))
            await asyncio.sleep(0)
            tide.close()
            return await waiting and tide.closed

    assert asyncio.run(play())
