"""The GroupWriter: one commit for all queued writes, and each waiter its own result."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from journal_values import OTHER, TASK, make_attempt, make_record, make_row
from ostler.errors import Code, OstlerError, UsageError
from ostler.files import failpoint
from ostler.model.ids import TaskId
from ostler.model.notice import ParseError
from ostler.store import busy
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.store import SqliteStore
from ostler.store.writer import GroupWriter


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / ".ostler" / "ostler.db"
    failpoint.arm("")


def count_commits(writer: GroupWriter, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    commits: list[int] = []
    write = writer._write

    def counted(group: list[Any]) -> list[Any]:
        commits.append(len(group))
        return write(group)

    monkeypatch.setattr(writer, "_write", counted)
    return commits


async def many(writer: GroupWriter, count: int) -> list[bool]:
    tasks = [TaskId(f"task-{number}") for number in range(count)]
    return await asyncio.gather(*(writer.append(make_record(1, task), make_row(1, task)) for task in tasks))


def test_waiting_writes_share_a_commit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred writes that are queued together cost a few commits, not two hundred."""

    async def check() -> None:
        writer = SqliteStore(path).open_writer(create=True)
        commits = count_commits(writer, monkeypatch)
        assert await many(writer, 200) == [True] * 200
        assert sum(commits) == 200
        assert len(commits) < 50
        await writer.close()

    asyncio.run(check())
    with SqliteJournal(path) as journal:
        assert len(journal.rows()) == 200


def test_rivals_in_one_group(path: Path) -> None:
    """Of two writes of one seq in one commit the first is stored."""

    async def check() -> list[bool]:
        writer = SqliteStore(path).open_writer(create=True)
        answers = await asyncio.gather(*(writer.append(make_record(1), make_row(1)) for _ in range(5)))
        await writer.close()
        return answers

    assert asyncio.run(check()) == [True, False, False, False, False]


def test_order_is_kept(path: Path) -> None:
    """Notices that are not awaited are in the feed in their order."""

    async def check() -> None:
        writer = SqliteStore(path).open_writer(create=True)
        for number in range(50):
            writer.notify(TASK, float(number), [ParseError(str(number))])
        assert await writer.begin_attempt(make_attempt()) == 1
        writer.notify(TASK, 50.0, [])
        await writer.close()

    asyncio.run(check())
    with SqliteJournal(path) as journal:
        assert [line.at for line in journal.feed()] == [*map(float, range(50)), 2000.0]


def test_close_writes_what_waits(path: Path) -> None:
    """Closing loses nothing, closing twice is allowed, and a closed writer raises."""

    async def check() -> None:
        writer = SqliteStore(path).open_writer(create=True)
        waiting = [writer.append(make_record(seq), make_row(seq)) for seq in range(1, 101)]
        await writer.close()
        assert [await done for done in waiting] == [True] * 100
        await writer.close()
        with pytest.raises(RuntimeError, match="closed"):
            writer.append(make_record(101), make_row(101))

    asyncio.run(check())


@pytest.mark.parametrize(("action", "code"), [("enospc", Code.DISK_FULL), ("eio", Code.STORAGE_ERROR)])
def test_failed_commit_fails_its_whole_group(path: Path, action: str, code: Code) -> None:
    """No waiter of a failed commit gets a result."""

    async def check() -> None:
        writer = SqliteStore(path).open_writer(create=True)
        failpoint.arm(f"journal.append:{action}")
        writes = [writer.append(make_record(1, task), make_row(1, task)) for task in (TASK, OTHER)]
        writer.notify(TASK, 1.0, [ParseError("x")])
        answers = await asyncio.gather(*writes, return_exceptions=True)
        failed = [answer for answer in answers if isinstance(answer, OstlerError)]
        assert {error.code for error in failed} == {code}
        kept = [task for task, answer in zip((TASK, OTHER), answers, strict=True) if answer is True]
        await writer.close()
        with SqliteJournal(path) as journal:
            assert [row.id for row in journal.rows()] == kept

    asyncio.run(check())


def test_broken_disk_refuses_what_follows(path: Path) -> None:
    """After a failed flush the writer refuses, until a new one is opened."""

    async def check() -> None:
        writer = SqliteStore(path).open_writer(create=True)
        failpoint.arm("journal.append:eio")
        for _ in range(3):
            with pytest.raises(OstlerError) as caught:
                await writer.append(make_record(1), make_row(1))
            assert caught.value.code is Code.STORAGE_ERROR
        await writer.close()
        writer = SqliteStore(path).open_writer()
        assert await writer.append(make_record(1), make_row(1))
        await writer.close()

    asyncio.run(check())


def test_bad_write_does_not_hurt_its_neighbours(path: Path) -> None:
    """A write with a bug in it fails alone, and leaves no half of itself."""

    async def check() -> None:
        writer = SqliteStore(path).open_writer(create=True)
        bad = replace(make_row(1, OTHER), seq=1 << 80)
        answers = await asyncio.gather(
            writer.append(make_record(1), make_row(1)),
            writer.append(make_record(1, OTHER), bad),
            writer.append(make_record(2), make_row(2)),
            return_exceptions=True,
        )
        assert (answers[0], type(answers[1]), answers[2]) == (True, OverflowError, True)
        await writer.close()

    asyncio.run(check())
    with SqliteJournal(path) as journal:
        assert journal.read(OTHER) == []


def test_cancelled_waiter(path: Path) -> None:
    """Cancelling a waiter has no effect on others; its write may be stored."""

    async def check() -> None:
        writer = SqliteStore(path).open_writer(create=True)
        cancelled, kept = (writer.append(make_record(seq), make_row(seq)) for seq in (1, 2))
        cancelled.cancel()
        assert await kept
        await writer.close()

    asyncio.run(check())


def test_busy_journal_does_not_block_the_loop(path: Path) -> None:
    """While another process has locked the journal the loop continues, and the waiter gets an error in the
    end.
    """

    async def check() -> None:
        writer = SqliteStore(path, busy_timeout_seconds=0.1).open_writer(create=True, wait_seconds=0.3)
        holder = apsw.Connection(str(path))
        holder.execute("BEGIN IMMEDIATE")
        write = writer.append(make_record(1), make_row(1))
        turns = 0
        while not write.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert turns > 5
        with pytest.raises(OstlerError) as caught:
            await write
        assert (caught.value.code, caught.value.exit) == (Code.STATE_BUSY, 3)
        holder.execute("ROLLBACK")
        await writer.close()

    asyncio.run(check())


def test_a_stop_request_ends_the_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal is handled by another thread than the one that waits; a later write does not wait again."""
    monkeypatch.setattr(busy, "STOP_WAIT_SECONDS", 0.1)

    async def check() -> None:
        stop = busy.StopRequest()
        writer = SqliteStore(path, busy_timeout_seconds=0.1).open_writer(create=True, stop=stop)
        holder = apsw.Connection(str(path))
        holder.execute("BEGIN IMMEDIATE")
        write = writer.append(make_record(1), make_row(1))
        await asyncio.sleep(0.2)
        stop.set()
        for waiting in (write, writer.append(make_record(1), make_row(1))):
            with pytest.raises(OstlerError) as caught:
                await asyncio.wait_for(waiting, 3)
            assert caught.value.code is Code.STATE_BUSY
        holder.execute("ROLLBACK")
        await writer.close()

    asyncio.run(check())


def test_opening_errors_come_at_once(path: Path) -> None:
    """A writer for a missing journal raises before any thread starts."""
    with pytest.raises(UsageError):
        SqliteStore(path).open_writer()


def test_writer_is_durable(path: Path) -> None:
    """The connection that acknowledges flushes at every commit."""

    async def check() -> None:
        writer = SqliteStore(path).open_writer(create=True)
        assert writer._journal._db.connection.pragma("synchronous") == 2
        assert writer.store_id == writer._journal.store_id
        await writer.close()

    asyncio.run(check())
