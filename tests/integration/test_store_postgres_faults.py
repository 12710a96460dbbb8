"""Many writers on one PostgreSQL server that hangs, crashes or loses their connections."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from servers.postgres import PostgresServer

from journal_values import make_record, make_row
from ostler.errors import StateError
from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.store.busy import STOP_WAIT_SECONDS, StopRequest
from ostler.store.postgres.address import CONNECT_SECONDS, Address
from ostler.store.postgres.store import PostgresStore
from postgres_world import new_address, new_store

WRITERS = 8


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that the test may kill."""
    server = PostgresServer().start()
    yield server
    server.close()


def write_history(store: PostgresStore, task: TaskId, count: int, progress: Callable[[], None]) -> None:
    """Append the records of one task; each must be the first with its number."""
    with store.open_journal(wait_seconds=120) as journal:
        for seq in range(1, count + 1):
            assert journal.append(make_record(seq, task), make_row(seq, task)), f"{task} has {seq} twice"
            progress()


def follow_feed(store: PostgresStore, count: int) -> list[FeedLine]:
    """Read the feed as `ostler log --after` does, until this many lines are seen or none comes any more."""
    lines: list[FeedLine] = []
    quiet_since = time.monotonic()
    with store.open_journal(wait_seconds=120) as journal:
        while len(lines) < count and time.monotonic() < quiet_since + 2:
            found = journal.feed(lines[-1].position if lines else 0)
            lines += found
            quiet_since = time.monotonic() if found else quiet_since
    return lines


def run_writers(pool: ThreadPoolExecutor, store: PostgresStore, each: int) -> list[Future[None]]:
    tasks = [TaskId(f"task-{number}") for number in range(WRITERS)]
    return [pool.submit(write_history, store, task, each, lambda: None) for task in tasks]


def count_missed(store: PostgresStore, each: int) -> int:
    """Return how many lines a reader misses while all writers append."""
    with ThreadPoolExecutor(WRITERS + 1) as pool:
        reading = pool.submit(follow_feed, store, WRITERS * each)
        for writing in run_writers(pool, store, each):
            writing.result()
    return WRITERS * each - len(reading.result())


def test_a_reader_misses_no_line(postgres_server: PostgresServer) -> None:
    """Positions are in the order of the commits, with eight writers at once."""
    assert count_missed(new_store(postgres_server), each=40) == 0


@pytest.mark.full
def test_a_reader_misses_lines_without_the_lock(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above finds it when each transaction takes another lock."""
    keys = iter(range(1, 1 << 40))
    monkeypatch.setattr(Address, "lock_key", property(lambda _: next(keys)))
    assert count_missed(new_store(postgres_server), each=200) > 0


def check_histories(store: PostgresStore, each: int) -> None:
    """Every record is there, once."""
    with store.open_journal() as journal:
        for number in range(WRITERS):
            task = TaskId(f"task-{number}")
            assert [record.seq for record in journal.read(task)] == [*range(1, each + 1)]
            row = journal.row(task)
            assert row is not None and row.seq == each
        assert journal.position() >= WRITERS * each
        assert len(journal.feed(limit=10 * WRITERS * each)) == WRITERS * each


@pytest.mark.parametrize("kills", [1, pytest.param(8, marks=pytest.mark.full)])
def test_a_killed_server_loses_and_repeats_nothing(own_server: PostgresServer, kills: int) -> None:
    """Writers wait until it is back, and repeat exactly the transactions that it had not committed."""
    store = new_store(own_server)
    each = 60 * kills
    with ThreadPoolExecutor(WRITERS) as pool:
        writing = run_writers(pool, store, each)
        for _ in range(kills):
            time.sleep(0.2)
            own_server.program.kill()
            own_server.program.start()  # on this thread, with which it ends
        for one in writing:
            one.result()
    check_histories(store, each)


@pytest.mark.full
def test_lost_connections_lose_and_repeat_nothing(postgres_server: PostgresServer) -> None:
    """The server ends sessions at any moment, also between a commit and its answer."""
    store = new_store(postgres_server)
    each = 300
    with ThreadPoolExecutor(WRITERS) as pool:
        writing = run_writers(pool, store, each)
        while not all(one.done() for one in writing):
            postgres_server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'ostler' AND random() < 0.3"
            )
        for one in writing:
            one.result()
    check_histories(store, each)


@pytest.mark.full
def test_a_server_that_hangs_is_waited_for(
    own_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Writers continue after six seconds without an answer, and the wait is printed."""
    store = new_store(own_server)
    with caplog.at_level(logging.WARNING), ThreadPoolExecutor(WRITERS) as pool:
        begun, frozen = threading.Event(), threading.Event()

        def hold_back() -> None:  # on a busy machine they would end before the server is frozen
            begun.set()
            if not frozen.is_set():
                time.sleep(0.1)

        tasks = [TaskId(f"task-{number}") for number in range(WRITERS)]
        writing = [pool.submit(write_history, store, task, 100, hold_back) for task in tasks]
        assert begun.wait(30)
        own_server.program.freeze()
        frozen.set()
        time.sleep(6)
        own_server.program.thaw()
        for one in writing:
            one.result()
    check_histories(store, 100)
    waits = [record.message for record in caplog.records if record.name == "ostler.waits"]
    assert any("it does not answer" in line for line in waits)
    assert any(line.startswith("the wait is over after 6 s") for line in waits)


def test_a_listener_hears_of_commits(postgres_server: PostgresServer) -> None:
    """It is woken by another connection's commit, and again after its own connection broke."""
    store = PostgresStore(new_address(postgres_server))
    with store.open_journal(create=True) as journal:
        woken = threading.Event()
        listener = store.listen(woken.set)
        try:
            assert listener.connected.wait(10)
            for seq, breaks in enumerate((False, True), 1):
                if breaks:
                    postgres_server.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'"
                    )
                    time.sleep(1)
                    assert listener.connected.wait(10)
                woken.clear()
                assert journal.append(make_record(seq), make_row(seq))
                assert woken.wait(5)
        finally:
            listener.close()


def test_a_run_that_is_stopped_does_not_wait_for_a_server_that_hangs(own_server: PostgresServer) -> None:
    """The wait of one read ends soon after the request, and the reads after it do not wait again."""
    stop, store = StopRequest(), new_store(own_server)
    with store.open_journal(wait_seconds=120, stop=stop) as journal, ThreadPoolExecutor() as pool:
        own_server.program.freeze()
        reading = pool.submit(journal.open_rows)
        time.sleep(0.5)
        stop.set()
        with pytest.raises(StateError, match="cannot be used"):
            reading.result(STOP_WAIT_SECONDS + CONNECT_SECONDS + 2)
        began = time.monotonic()
        for _ in range(5):
            with pytest.raises(StateError, match="cannot be used"):
                journal.open_rows()
        assert time.monotonic() - began < 1
        own_server.program.thaw()
