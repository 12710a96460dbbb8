"""The fence of claims, on each journal: a run whose task another run has claimed since writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from journal_values import OTHER, TASK, make_attempt, make_record, make_row
from ostler.model.notice import ParseError
from ostler.process.lease import LEASE_RATIO, Lease
from ostler.store.fence import Claim, ClaimLost
from ostler.store.journal import Journal
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.store import SqliteStore
from ostler.testing.memory_journal import MemoryJournal
from postgres_world import empty_store

OLD, NEW = Claim(1), Claim(2)
Write = Callable[[Any, Claim], Any]

WRITES: dict[str, Write] = {
    "append": lambda journal, claim: journal.append(make_record(3), claimed_row(3, 2), claim=claim),
    "notify": lambda journal, claim: journal.notify(TASK, 1.0, [ParseError("late")], claim=claim),
    "begin": lambda journal, claim: journal.begin_attempt(make_attempt(), claim=claim),
    "session": lambda journal, claim: journal.set_session(TASK, 1, "s-late", claim=claim),
    "end": lambda journal, claim: journal.end_attempt(
        replace(make_attempt(number=1), status="failed"), claim=claim
    ),
}


def claimed_row(seq: int, claims: int) -> Any:
    return replace(make_row(seq), state=b'{"task":"x","claims":%d}' % claims)


def claim_twice(journal: Journal) -> None:
    """Two runs claim the task one after the other; the second one has a running attempt."""
    assert journal.append(make_record(1), claimed_row(1, 1))
    assert journal.append(make_record(2), claimed_row(2, 2), claim=OLD)
    assert journal.begin_attempt(make_attempt(), claim=NEW) == 1


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    match request.param:
        case "memory":
            opened = MemoryJournal()
        case "sqlite":
            opened = SqliteJournal(tmp_path / "o.db", create=True)
        case _:
            opened = empty_store(request.getfixturevalue("postgres_server")).open_journal()
    claim_twice(opened)
    yield opened
    opened.close()


def see(journal: Journal) -> Any:
    return journal.read(TASK), journal.row(TASK), journal.attempts(TASK), journal.position()


@pytest.mark.parametrize("write", list(WRITES.values()), ids=list(WRITES))
def test_a_late_write_of_an_old_claim_is_refused_whole(journal: Journal, write: Write) -> None:
    """Nothing of it is in the journal; the same write of the newer claim is made."""
    before = see(journal)
    with pytest.raises(ClaimLost):
        write(journal, OLD)
    assert see(journal) == before
    write(journal, NEW)
    assert see(journal) != before


def test_a_late_begin_does_not_close_the_attempt_of_its_successor(journal: Journal) -> None:
    """Without a claim the begin closes it, and the end of the running attempt would be refused."""
    with pytest.raises(ClaimLost):
        journal.begin_attempt(make_attempt(started_at=3000.0), claim=OLD)
    assert [one.status for one in journal.attempts(TASK)] == ["running"]
    assert journal.end_attempt(replace(make_attempt(number=1), status="succeeded"), claim=NEW)

    assert journal.begin_attempt(make_attempt()) == 2
    journal.begin_attempt(make_attempt(started_at=3000.0))
    assert [one.status for one in journal.attempts(TASK)] == ["succeeded", "interrupted", "running"]


@pytest.mark.parametrize("write", list(WRITES.values()), ids=list(WRITES))
def test_no_write_is_made_after_the_end_of_the_lease(journal: Journal, write: Write) -> None:
    """It may have waited for the database until then: the lease is read in its transaction."""
    before, now = see(journal), [100.0]
    claim = Claim(2, Lease(10.0, lambda: now[0]))
    now[0] += 10.0 * LEASE_RATIO
    with pytest.raises(ClaimLost):
        write(journal, claim)
    assert see(journal) == before


def test_a_write_about_a_removed_task_is_refused(journal: Journal) -> None:
    """A person deleted the task while the run was away."""
    assert journal.append(make_record(3), replace(claimed_row(3, 2), removed=True))
    with pytest.raises(ClaimLost):
        journal.begin_attempt(make_attempt(), claim=NEW)


def test_a_lost_claim_concerns_no_other_write_of_its_group(tmp_path: Path) -> None:
    """Writes of several tasks share a commit: the one that is refused does not fail the others."""
    path = tmp_path / "ostler.db"

    async def check() -> list[Any]:
        writer = SqliteStore(path).open_writer(create=True)
        for number in (1, 2):
            assert await writer.append(make_record(number), claimed_row(number, number))
        writes = (
            writer.append(make_record(1, OTHER), make_row(1, OTHER)),
            writer.begin_attempt(make_attempt(), claim=OLD),
            writer.append(make_record(3), claimed_row(3, 2), claim=NEW),
        )
        results = await asyncio.gather(*writes, return_exceptions=True)
        await writer.close()
        return results

    first, lost, last = asyncio.run(check())
    assert (first, last) == (True, True)
    assert isinstance(lost, ClaimLost)
    with SqliteJournal(path) as journal:
        assert journal.row(OTHER) == make_row(1, OTHER)
        assert journal.attempts(TASK) == []
