"""The live feed of the dashboard while the PostgreSQL server of the project is down."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from servers.postgres import PostgresServer

from journal_values import TASK
from ostler.model.notice import AgentWarned
from ostler.store.postgres.store import PostgresStore
from ostler.web.broadcaster import EventBroadcaster
from postgres_world import new_store

DOWN_SECONDS = 8  # longer than a read waits for the server


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that the test may kill."""
    server = PostgresServer().start()
    yield server
    server.close()


def write(store: PostgresStore, text: str) -> None:
    with store.open_journal(wait_seconds=60) as journal:
        journal.notify(TASK, 1.0, [AgentWarned(text)])


async def measure_longest_block(longest: list[float]) -> None:
    """Add for how long the event loop did nothing else."""
    while True:
        before = time.monotonic()
        await asyncio.sleep(0.01)
        longest[0] = max(longest[0], time.monotonic() - before)


async def follow(store: PostgresStore, waits: threading.Event) -> tuple[int, float]:
    """Receive two lines as a stream does; return their number, and the longest block of the event loop."""
    journal, longest, received, after = store.open_journal(), [0.0], 0, 0
    broadcaster = EventBroadcaster(journal, store.open_journal)
    measuring = asyncio.create_task(measure_longest_block(longest))
    try:
        async with asyncio.timeout(60):
            while received < 2 and not broadcaster.closed:
                mark = broadcaster.change_count
                while lines := await broadcaster.read(after, None):
                    after, received = lines[-1].position, received + len(lines)
                    waits.set()
                await broadcaster.wait_for_change(mark, 1.0)
    finally:
        measuring.cancel()
        broadcaster.close()
        await asyncio.to_thread(broadcaster.close_threads)
        journal.close()
    return received, longest[0]


@pytest.mark.full
def test_a_stream_goes_on_after_an_outage(own_server: PostgresServer) -> None:
    """It is neither ended nor does it block the requests of others, and receives what is written later."""
    store, waits = new_store(own_server), threading.Event()
    write(store, "before")
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(lambda: asyncio.run(follow(store, waits)))
        assert waits.wait(30)
        own_server.program.kill()
        time.sleep(DOWN_SECONDS)
        own_server.program.start()  # on this thread, with which it ends
        write(store, "after")
        received, blocked = following.result(60)
    assert received == 2
    assert blocked < 2
