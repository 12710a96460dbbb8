"""The contract of a Journal, checked on each: in memory, in each database, and through a GroupWriter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from journal_values import OTHER, TASK, make_attempt, make_record, make_row
from ostler.errors import Code
from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import FeedLine, Record, TaskClaimed, TaskCompleted
from ostler.model.ids import TaskId
from ostler.model.notice import Notice, ParseError, PhaseStarted
from ostler.model.usage import Usage
from ostler.store.journal import Journal
from ostler.store.store import Store
from ostler.testing.memory_journal import MemoryJournal
from postgres_world import empty_store
from stores import create_sqlite_store


class ThroughLoop:
    """Writes through a GroupWriter and reads the committed records, as a run does."""

    def __init__(self, store: Store) -> None:
        self._writer = store.open_writer()
        self._reader = store.open_journal()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def append(self, record: Record, row: TaskRow, notices: Sequence[Notice] = ()) -> bool:
        return asyncio.run(self._wait(lambda: self._writer.append(record, row, notices)))

    def notify(self, task: TaskId, at: float, notices: Sequence[Notice]) -> None:
        asyncio.run(self._wait(lambda: self._writer.notify(task, at, notices)))

    def begin_attempt(self, attempt: Attempt) -> int:
        return asyncio.run(self._wait(lambda: self._writer.begin_attempt(attempt)))

    def set_session(self, task: TaskId, number: int, session_id: str) -> bool:
        return asyncio.run(self._wait(lambda: self._writer.set_session(task, number, session_id)))

    def end_attempt(self, attempt: Attempt) -> bool:
        return asyncio.run(self._wait(lambda: self._writer.end_attempt(attempt)))

    def close(self) -> None:
        asyncio.run(self._writer.close())
        self._reader.close()

    async def _wait(self, write: Callable[[], asyncio.Future[Any]]) -> Any:
        return await write()


KINDS = ("memory", "sqlite", "sqlite loop", "postgres", "postgres loop")


def open_journal(kind: str, directory: Path, request: pytest.FixtureRequest) -> Journal:
    """Return an empty journal of this kind."""
    if kind == "memory":
        return MemoryJournal()
    store = empty_store(request.getfixturevalue("postgres_server")) if "postgres" in kind else None
    store = store or create_sqlite_store(directory / "ostler.db")
    return ThroughLoop(store) if "loop" in kind else store.open_journal()  # pyright: ignore[reportReturnType]


@pytest.fixture(params=KINDS)
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    opened = open_journal(request.param, tmp_path, request)
    yield opened
    opened.close()


def types_of(lines: list[FeedLine]) -> list[str]:
    return [msgspec.json.decode(line.body)["type"] for line in lines]


class TestAppend:
    def test_record_comes_back_as_it_was(self, journal: Journal) -> None:
        """An appended record is read back, field for field."""
        record = make_record(1)
        assert journal.append(record, make_row(1))
        assert journal.read(TASK) == [record]

    def test_second_of_a_seq_is_refused_whole(self, journal: Journal) -> None:
        """The second record of a seq changes nothing: no record, no row, no notice."""
        assert journal.append(make_record(1), make_row(1))
        before = journal.feed()
        loser = replace(make_record(1), event=TaskClaimed("another"))
        assert not journal.append(loser, replace(make_row(1), status="failed"), [PhaseStarted("implement")])
        assert journal.read(TASK) == [make_record(1)]
        assert journal.row(TASK) == make_row(1)
        assert journal.feed() == before

    def test_row_follows_the_record(self, journal: Journal) -> None:
        """Each record updates the row of its task."""
        journal.append(make_record(1), make_row(1))
        newer = replace(make_row(2), status="deferred", resumes_at=99.25, title="ü \N{SNOWMAN}")
        journal.append(make_record(2), newer)
        assert journal.row(TASK) == newer

    def test_row_keeps_what_it_comes_after(self, journal: Journal) -> None:
        """Ids and the time are stored in order, also when a later record drops them."""
        waiting = replace(make_row(1), after=(OTHER, TaskId("x-1")), not_before=12.5)
        journal.append(make_record(1), waiting)
        assert journal.row(TASK) == waiting
        assert journal.open_rows() == [waiting]
        journal.append(make_record(2), make_row(2))
        assert journal.row(TASK) == make_row(2)

    def test_active_tasks(self, journal: Journal) -> None:
        """A task that waits for a person is left out, unless the end of another task may continue it."""
        waiting = replace(make_row(1), status="needs_review")
        blocked = replace(make_row(1, OTHER), status="blocked")
        journal.append(make_record(1), waiting)
        journal.append(make_record(1, OTHER), blocked)
        assert journal.active_rows() == []
        dependent = replace(make_row(2, OTHER), status="blocked", after=(TASK,))
        journal.append(make_record(2, OTHER), dependent)
        assert journal.active_rows() == [dependent]
        revised = replace(make_row(2), status="revision")
        journal.append(make_record(2), revised)
        assert journal.active_rows() == [revised, dependent]
        assert journal.open_rows() == [revised, dependent]

    def test_late_reviews(self, journal: Journal) -> None:
        """Only open tasks that wait for a review, from the one that has waited longest."""
        rows = [
            replace(make_row(1, TaskId(name)), status=status, updated_at=at, open=is_open)
            for name, status, at, is_open in (
                ("a-new", "needs_review", 30.0, True),
                ("b-late", "needs_review", 20.0, True),
                ("c-later", "needs_review", 10.0, True),
                ("d-blocked", "blocked", 10.0, True),
                ("e-closed", "needs_review", 10.0, False),
            )
        ]
        for row in rows:
            journal.append(make_record(1, row.id), row)
        assert journal.late_reviews(20.0) == [rows[2], rows[1]]

    def test_statuses_of_some_tasks(self, journal: Journal) -> None:
        """The requested tasks that exist, whether anything is left to do or not."""
        journal.append(make_record(1), replace(make_row(1), status="completed", open=False))
        journal.append(make_record(1, OTHER), make_row(1, OTHER))
        assert journal.statuses([TASK, TaskId("gone-1")]) == {TASK: "completed"}
        assert journal.statuses([OTHER, TASK]) == {TASK: "completed", OTHER: "pending"}
        assert journal.statuses([]) == {}

    def test_recorded_tasks(self, journal: Journal) -> None:
        """The tasks with a new record, once each; a notice is none."""
        for task in (TASK, OTHER):
            journal.append(make_record(1, task), make_row(1, task))
        first = journal.recorded_tasks(0)
        assert first == ({TASK, OTHER}, journal.position())
        journal.notify(TASK, 1.0, [ParseError("not JSON")])
        second = journal.recorded_tasks(first.position)
        assert second == (set(), first.position + 1)
        for seq in (2, 3):
            journal.append(make_record(seq, OTHER), make_row(seq, OTHER))
        assert journal.recorded_tasks(second.position) == ({OTHER}, second.position + 2)

    def test_named_rows(self, journal: Journal) -> None:
        """In the order of their names; unknown ones are left out."""
        for name in ("a-1111", "b-2222", "c-3333"):
            journal.append(make_record(1, TaskId(name)), make_row(1, TaskId(name)))
        wanted = [TaskId(name) for name in ("c-3333", "z-9999", "a-1111")]
        assert [row.id for row in journal.named_rows(wanted)] == ["c-3333", "a-1111"]
        assert journal.named_rows([]) == []

    def test_read_after(self, journal: Journal) -> None:
        """Only records newer than `after` are read, in order."""
        for seq in (1, 2, 3):
            journal.append(make_record(seq), make_row(seq))
        assert [record.seq for record in journal.read(TASK, 1)] == [2, 3]

    def test_tasks_are_apart(self, journal: Journal) -> None:
        """The same seq of two tasks is two records."""
        assert journal.append(make_record(1), make_row(1))
        assert journal.append(make_record(1, OTHER), make_row(1, OTHER))
        assert journal.read(OTHER) == [make_record(1, OTHER)]

    def test_clock_that_jumps_back(self, journal: Journal) -> None:
        """The order is that of seq, not of the time."""
        journal.append(make_record(1, at=5e9), make_row(1))
        journal.append(make_record(2, at=-1.0), make_row(2))
        assert [record.seq for record in journal.read(TASK)] == [1, 2]
        assert [line.at for line in journal.feed()] == [5e9, -1.0]

    def test_event_of_a_newer_version_is_kept(self, journal: Journal) -> None:
        """A type that this version does not have is returned as it was written."""
        raw = msgspec.Raw(b'{"type":"task_teleported","to":"mars"}')
        journal.append(replace(make_record(1), event=raw), make_row(1))
        event = journal.read(TASK)[0].event
        assert isinstance(event, msgspec.Raw)
        assert bytes(event) == bytes(raw)


class TestLists:
    def test_rows_oldest_first(self, journal: Journal) -> None:
        """Lists are ordered by age, then by id."""
        for task, created in ((OTHER, 5.0), (TASK, 5.0), (TaskId("aaa"), 9.0), (TaskId("zzz"), 1.0)):
            journal.append(make_record(1, task), make_row(1, task, created))
        assert [row.id for row in journal.rows()] == ["zzz", TASK, OTHER, "aaa"]

    @pytest.mark.parametrize(
        ("prefix", "expected"),
        [
            ("fix", ["fix", "fix-login-ab12", "fix-logout-cd34"][:1]),
            ("fix-", ["fix-login-ab12", "fix-logout-cd34"]),
            ("fix-login", ["fix-login-ab12"]),
            ("x", []),
            ("%", []),
            ("fix*", []),
        ],
    )
    def test_find(self, journal: Journal, prefix: str, expected: list[str]) -> None:
        """A prefix finds all ids that start with it; a whole id finds itself; wildcards have no effect."""
        for task in (TASK, OTHER, TaskId("fix")):
            journal.append(make_record(1, task), make_row(1, task))
        assert journal.find(prefix) == expected

    def test_unknown_task(self, journal: Journal) -> None:
        """A task that does not exist has no history, and that is not an error."""
        assert (journal.row(TASK), journal.read(TASK), journal.attempts(TASK), journal.feed(0, TASK)) == (
            None,
            [],
            [],
            [],
        )


class TestFeed:
    def test_events_and_notices_in_writing_order(self, journal: Journal) -> None:
        """The feed numbers everything that was written, of one task or of all, in pages."""
        journal.append(make_record(1), make_row(1), [PhaseStarted("implement")])
        journal.notify(OTHER, 7.0, [ParseError("x"), ParseError("y")])
        journal.append(make_record(2, event=TaskCompleted()), make_row(2))
        lines = journal.feed()
        assert types_of(lines) == [
            "task_claimed",
            "phase_started",
            "parse_error",
            "parse_error",
            "task_completed",
        ]
        positions = [line.position for line in lines]
        assert positions == sorted(set(positions))
        assert journal.feed(positions[1]) == lines[2:]
        assert journal.feed(0, TASK) == [lines[0], lines[1], lines[4]]
        assert journal.feed(positions[0], TASK, 1) == [lines[1]]
        assert journal.feed(limit=2) == lines[:2]

    def test_store_id_stays(self, journal: Journal) -> None:
        """The store has an id."""
        assert journal.store_id == journal.store_id != ""


class TestAttempts:
    def test_numbers_count_per_task(self, journal: Journal) -> None:
        """Each task counts its own attempts from 1."""
        assert [journal.begin_attempt(make_attempt()), journal.begin_attempt(make_attempt())] == [1, 2]
        assert journal.begin_attempt(make_attempt(OTHER)) == 1

    def test_begin_closes_what_a_dead_run_left(self, journal: Journal) -> None:
        """An attempt that was running when the next one started becomes interrupted, also in the feed."""
        journal.begin_attempt(make_attempt())
        journal.begin_attempt(make_attempt(started_at=3000.0))
        first, second = journal.attempts(TASK)
        assert (first.status, first.code, second.status) == ("interrupted", Code.INTERRUPTED, "running")
        assert types_of(journal.feed()) == ["attempt_started", "attempt_ended", "attempt_started"]

    def test_end_completes(self, journal: Journal) -> None:
        """The end of the newest attempt is recorded once, with its figures."""
        number = journal.begin_attempt(make_attempt())
        ended = replace(
            make_attempt(number=number),
            status="succeeded",
            duration_ms=1500,
            exit_code=0,
            usage=Usage(3, 4),
            cost_usd=0.25,
        )
        assert journal.end_attempt(ended)
        assert journal.attempts(TASK) == [ended]
        assert journal.feed()[-1].at == 2001.5
        assert not journal.end_attempt(ended)
        assert types_of(journal.feed()) == ["attempt_started", "attempt_ended"]

    def test_zombie_is_fenced(self, journal: Journal) -> None:
        """An attempt that was replaced by a newer one cannot end."""
        old = journal.begin_attempt(make_attempt())
        journal.begin_attempt(make_attempt())
        before = (journal.attempts(TASK), journal.feed())
        assert not journal.end_attempt(replace(make_attempt(number=old), status="succeeded"))
        assert (journal.attempts(TASK), journal.feed()) == before

    def test_named_session_is_kept_while_the_attempt_runs(self, journal: Journal) -> None:
        """The session id of the agent is in the row at once; nothing else changes, and the feed has no line
        for it.
        """
        journal.begin_attempt(make_attempt(OTHER))
        number = journal.begin_attempt(make_attempt())
        before, feed = journal.attempts(TASK)[0], journal.feed()
        assert journal.set_session(TASK, number, "ses_1")
        assert journal.set_session(TASK, number, "ses_2")
        assert journal.attempts(TASK) == [replace(before, session_id="ses_2")]
        assert journal.feed() == feed
        assert journal.attempts(OTHER)[0].session_id == make_attempt().session_id

    def test_named_session_outlives_the_run(self, journal: Journal) -> None:
        """Interrupted by the next attempt, the row still has the agent's session."""
        journal.set_session(TASK, journal.begin_attempt(make_attempt()), "ses_1")
        journal.begin_attempt(make_attempt())
        first, _ = journal.attempts(TASK)
        assert (first.session_id, first.status) == ("ses_1", "interrupted")

    def test_session_of_an_attempt_that_is_over_is_refused(self, journal: Journal) -> None:
        """A replaced, ended or missing attempt cannot get a session."""
        old = journal.begin_attempt(make_attempt())
        new = journal.begin_attempt(make_attempt())
        assert not journal.set_session(TASK, old, "late")
        journal.end_attempt(replace(make_attempt(number=new), status="succeeded"))
        before = journal.attempts(TASK)
        assert not journal.set_session(TASK, new, "late")
        assert not journal.set_session(TASK, 99, "late") and not journal.set_session(OTHER, 1, "late")
        assert journal.attempts(TASK) == before

    def test_end_of_nothing(self, journal: Journal) -> None:
        """An attempt that was never started cannot end."""
        assert not journal.end_attempt(make_attempt(number=1))


names = st.tuples(st.sampled_from([TASK, OTHER]), st.integers(1, 4), st.integers(0, 9))


@pytest.mark.parametrize(("kind", "count"), [("memory", 40), ("sqlite", 40), ("postgres", 10)])
def test_append_is_compare_and_set(kind: str, count: int, request: pytest.FixtureRequest) -> None:
    """Of any series of appends, exactly the first of each (task, seq) is stored and visible."""

    @settings(max_examples=count, deadline=None)
    @given(st.lists(names, max_size=20))
    def check(tries: list[tuple[TaskId, int, int]]) -> None:
        with TemporaryDirectory() as directory:
            journal = open_journal(kind, Path(directory), request)
            won: dict[tuple[TaskId, int], str] = {}
            for task, seq, value in tries:
                record = make_record(seq, task, TaskClaimed(str(value)))
                assert journal.append(record, make_row(seq, task)) == ((task, seq) not in won)
                won.setdefault((task, seq), str(value))
            for task in (TASK, OTHER):
                kept = {(task, record.seq): record.event.run for record in journal.read(task)}  # pyright: ignore
                assert kept == {name: run for name, run in won.items() if name[0] == task}
            assert len(journal.feed()) == len(won)
            journal.close()

    check()
