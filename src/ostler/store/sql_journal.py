"""The journal in tables of a database; a connection is for one thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import astuple, replace

from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import FeedLine, Record
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.model.policy.sandbox import RefusedAccess
from ostler.secrets.redact import redact_bytes, redact_text
from ostler.store import codec
from ostler.store.database import MAX_LIST, Database, number_parameters
from ostler.store.journal import FEED_LIMIT, Append, RecordedTasks
from ostler.store.repeat import repeat, repeated
from ostler.store.sql_listing import SqlListing

if TYPE_CHECKING:
    from ostler.store.fence import Claim
    from ostler.store.reviews import Reviews

_T = TypeVar("_T")

_PAGE = 1000  # rows that are read at once

# 6 is the version of the names in what is written; a row without one is refused.
_INSERT_RECORD = """
    INSERT INTO feed (task, seq, at, type, step, basis, body, version) VALUES ($1, $2, $3, $4, $5, $6, $7, 6)
    ON CONFLICT DO NOTHING"""
_INSERT_NOTICE = """
    INSERT INTO feed (task, at, type, step, basis, body, version) VALUES ($1, $2, $3, '', 0, $4, 6)"""
_UPSERT_TASK = """
    INSERT INTO task (id, seq, status, title, priority, created_at, updated_at, state, resumes_at, open,
        waits_for, not_before, after_any, pipeline, at_once, cost_usd, archived_at, need, queued_at,
        status_since)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $7)
    ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, status = excluded.status, title = excluded.title,
        priority = excluded.priority, created_at = excluded.created_at, updated_at = excluded.updated_at,
        state = excluded.state, resumes_at = excluded.resumes_at, open = excluded.open,
        waits_for = excluded.waits_for, not_before = excluded.not_before, after_any = excluded.after_any,
        pipeline = excluded.pipeline, at_once = excluded.at_once, cost_usd = excluded.cost_usd,
        archived_at = excluded.archived_at, need = excluded.need, queued_at = excluded.queued_at,
        status_since = CASE WHEN task.status = excluded.status
            THEN task.status_since ELSE excluded.status_since END"""
_DELETE_TASK = "DELETE FROM task WHERE id = $1"
_INSERT_ATTEMPT = "INSERT INTO attempt (task, number, status, body) VALUES ($1, $2, $3, $4)"
_SELECT_ATTEMPT = "SELECT body FROM attempt WHERE task = $1 AND number = $2"
_UPDATE_ATTEMPT = """
    UPDATE attempt SET status = $1, body = $2, ended_at = $3, cost_usd = $4 WHERE task = $5 AND number = $6"""
_SELECT_NEWEST = "SELECT number, status FROM attempt WHERE task = $1 ORDER BY number DESC LIMIT 1"
_SELECT_RUNNING = "SELECT body FROM attempt WHERE task = $1 AND status = 'running' ORDER BY number"
_SELECT_ATTEMPTS = "SELECT body FROM attempt WHERE task = $1 ORDER BY number"
_LAST_NOTICE = "SELECT max(at) FROM feed WHERE task = $1 AND seq IS NULL AND type = $2"
_SELECT_RECORDS = (
    "SELECT seq, at, type, body, step, basis FROM feed WHERE task = $1 AND seq > $2 ORDER BY seq"
)
_TASK = """
    SELECT id, seq, status, title, priority, created_at, updated_at, state, resumes_at, open, waits_for,
        not_before, after_any, pipeline, at_once, cost_usd, archived_at, need, queued_at
    FROM task"""
_SELECT_TASK = f"{_TASK} WHERE id = $1"
_SELECT_STATE = "SELECT state FROM task WHERE id = $1"
_SELECT_TASKS = f"{_TASK} ORDER BY created_at, id"
_SELECT_OPEN_TASKS = f"{_TASK} WHERE open ORDER BY created_at, id"
# Of the tasks that wait for a person, only those in a pipeline or with dependencies can change by others.
_SELECT_ACTIVE_TASKS = f"""{_TASK} WHERE open
        AND NOT (status IN ('paused', 'needs_review', 'blocked') AND waits_for = '' AND pipeline = '')
    ORDER BY created_at, id"""
_SELECT_LATE_REVIEWS = f"""{_TASK} WHERE status = 'needs_review' AND updated_at <= $1 AND open
    ORDER BY updated_at, id"""
_FIND_TASKS = "SELECT id FROM task WHERE id >= $1 AND id < $2 ORDER BY id"
_LAST_LETTER = chr(0x10FFFF)
_SELECT_FEED = "SELECT position, at, task, body FROM feed WHERE position > $1 ORDER BY position LIMIT $2"
_SELECT_DEFERRALS = """
    SELECT position, body FROM feed WHERE position < $1 AND type = 'task_deferred'
    ORDER BY position DESC LIMIT $2"""
# Notices are found by the index from `after` on; a task has few records.
_SELECT_FEED_OF_TASK = """
    SELECT position, at, task, body FROM feed WHERE task = $1 AND seq IS NULL AND position > $2
    UNION ALL
    SELECT position, at, task, body FROM feed WHERE task = $1 AND seq IS NOT NULL AND position > $2
    ORDER BY position LIMIT $3"""
_SELECT_RECORDED = "SELECT DISTINCT task FROM feed WHERE position > $1 AND position <= $2 AND seq IS NOT NULL"
_SELECT_POSITION = "SELECT coalesce(max(position), 0) FROM feed"
_SELECT_STORE_ID = "SELECT store_id FROM identity"


class _Deferral(Struct):
    code: str = ""
    resumes_at: float | None = None


_decode_deferral = msgspec.json.Decoder(_Deferral).decode


class SqlJournal:
    """A Journal in a database; a connection is for one thread."""

    backup: Path | None = None  # of the older journal, where opening it has upgraded it

    def __init__(self, db: Database) -> None:
        self._db = db
        self.stop_request = db.stop
        self.store_id = self._read_store_id()
        self.listing = SqlListing(db)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    @property
    def machine(self) -> str:
        """The machine that runs the tasks without a cluster; empty: this one, or any."""
        return self._db.machine

    @cached_property
    def reviews(self) -> Reviews:
        """The reviews of tasks, over this connection: a decision and its review are one transaction."""
        from ostler.store.reviews import Reviews  # noqa: PLC0415  (rarely needed)

        return Reviews(self._db)

    @property
    def wait_seconds(self) -> float:
        """How long a write waits for another process after its short wait."""
        return self._db.wait_seconds

    def wait_when_busy(self, seconds: float) -> None:
        """Let writes wait so long for another process; by default they fail after a short wait."""
        self._db.wait_seconds = seconds

    # Writing

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """Commit everything that is written inside together; roll back on an error."""
        return self._db.transaction(durable=durable)

    def repeat(self, write: Callable[[], _T]) -> _T:
        """Return the result of a call that makes one transaction, which is repeated if an outage ends it."""
        return repeat(self._db, write)

    @repeated
    def append(
        self,
        record: Record,
        row: TaskRow,
        notices: Sequence[Notice] = (),
        *,
        claim: Claim | None = None,
        then: Sequence[Append] = (),
    ) -> bool:
        with self._begin_write(record.task, claim):
            for one in (Append(record, row, notices), *then):
                # Of one task, so that only the first can be refused.
                if not self._insert_record(one.record):
                    return False
                self._write_row(one.row)
                self._insert_notices(one.record.task, one.record.at, one.notices)
            return True

    @repeated
    def notify(
        self, task: TaskId, at: float, notices: Sequence[Notice], *, claim: Claim | None = None
    ) -> None:
        with self._begin_write(task, claim):
            self._insert_notices(task, at, notices)

    @repeated
    def begin_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> int:
        with self._begin_write(attempt.task, claim):
            for running in self._db.run(_SELECT_RUNNING, attempt.task):
                self._finish(codec.mark_interrupted(codec.decode_attempt(running[0])), attempt.started_at)
            newest = self._db.run(_SELECT_NEWEST, attempt.task)
            started = replace(attempt, number=newest[0][0] + 1 if newest else 1)
            body = codec.encode_attempt(started)
            self._db.run(_INSERT_ATTEMPT, started.task, started.number, started.status, body)
            self._insert_notices(started.task, started.started_at, [codec.create_started_notice(started)])
            return started.number

    @repeated
    def set_session(self, task: TaskId, number: int, session_id: str, *, claim: Claim | None = None) -> bool:
        with self._begin_write(task, claim):
            if not self._is_running(task, number):
                return False
            known = codec.decode_attempt(self._db.run(_SELECT_ATTEMPT, task, number)[0][0])
            self._update(replace(known, session_id=session_id))
            return True

    @repeated
    def end_attempt(self, attempt: Attempt, *, claim: Claim | None = None) -> bool:
        with self._begin_write(attempt.task, claim):
            if not self._is_running(attempt.task, attempt.number):
                return False
            self._finish(attempt, codec.calculate_end(attempt))
            return True

    # Reading

    def read(self, task: TaskId, after: int = 0) -> list[Record]:
        return [
            Record(task, seq, at, codec.decode_event(kind, body), step, basis)
            for seq, at, kind, body, step, basis in self._db.query(_SELECT_RECORDS, task, after)
        ]

    def recorded_tasks(self, after: int) -> RecordedTasks:
        # The position first: what is committed in between is found by the next call.
        position = self.position()
        found = self._db.query(_SELECT_RECORDED, after, position) if position > after else []
        return RecordedTasks({TaskId(task) for (task,) in found}, position)

    def row(self, task: TaskId) -> TaskRow | None:
        found = self._db.query(_SELECT_TASK, task)
        return _to_row(found[0]) if found else None

    def rows(self) -> list[TaskRow]:
        return [_to_row(found) for found in self._db.query(_SELECT_TASKS)]

    def open_rows(self) -> list[TaskRow]:
        return [_to_row(found) for found in self._db.query(_SELECT_OPEN_TASKS)]

    def active_rows(self) -> list[TaskRow]:
        return [_to_row(found) for found in self._db.query(_SELECT_ACTIVE_TASKS)]

    def late_reviews(self, before: float) -> list[TaskRow]:
        return [_to_row(found) for found in self._db.query(_SELECT_LATE_REVIEWS, before)]

    def named_rows(self, tasks: Sequence[TaskId]) -> list[TaskRow]:
        rows = (_to_row(found) for found in self._query_listed(f"{_TASK} WHERE id IN", tasks))
        found = {row.id: row for row in rows}
        return [found[task] for task in tasks if task in found]

    def pipeline_rows(self, runs: Iterable[str]) -> list[TaskRow]:
        # The index contains only tasks of pipelines.
        found = self._query_listed(f"{_TASK} WHERE pipeline <> '' AND pipeline IN", runs)
        return sorted(map(_to_row, found), key=lambda row: (row.created_at, row.id))

    def statuses(self, tasks: Iterable[TaskId]) -> dict[TaskId, str]:
        found = self._query_listed("SELECT id, status FROM task WHERE id IN", tasks)
        return {TaskId(task): status for task, status in found}

    def find(self, prefix: str) -> list[TaskId]:
        found = [TaskId(row[0]) for row in self._db.query(_FIND_TASKS, prefix, prefix + _LAST_LETTER)]
        return found[:1] if prefix in found else found

    def attempts(self, task: TaskId) -> list[Attempt]:
        return [codec.decode_attempt(row[0]) for row in self._db.query(_SELECT_ATTEMPTS, task)]

    def feed(self, after: int = 0, task: TaskId | None = None, limit: int = FEED_LIMIT) -> list[FeedLine]:
        if task is None:
            found = self._db.query(_SELECT_FEED, after, limit)
        else:
            found = self._db.query(_SELECT_FEED_OF_TASK, task, after, limit)
        return [FeedLine(position, at, TaskId(of), Raw(body)) for position, at, of, body in found]

    def refusals(self, task: TaskId) -> tuple[RefusedAccess, ...]:
        """Return what the sandbox of a task refused, each access once, in the order of the first ones."""
        from ostler.store.queries.refusals import SELECT_REFUSALS, count_refusals  # noqa: PLC0415  (rarely needed)

        return count_refusals(body for (body,) in self._db.query(SELECT_REFUSALS, task))

    def last_notice(self, task: TaskId, kind: str) -> float:
        """Return the time of the task's last notice of a type; 0: there is none."""
        return self._db.query(_LAST_NOTICE, task, kind)[0][0] or 0.0

    def has_deferral(self, code: str, resumes_at: float, before: int) -> bool:
        """Return whether a task was deferred with this code until this time, before a position."""
        while page := self._db.query(_SELECT_DEFERRALS, before, _PAGE):
            if any(_decode_deferral(body) == _Deferral(code, resumes_at) for _, body in page):
                return True
            before = page[-1][0]
        return False

    def position(self) -> int:
        return self._db.query(_SELECT_POSITION)[0][0]

    def require_present(self) -> None:
        """Raise JOURNAL_LOST if the file was deleted, moved or replaced since it was opened."""
        self._db.require_present()

    def version(self) -> int:
        self.require_present()
        return self._db.version()

    # Internal

    def _read_store_id(self) -> str:
        return str(self._db.query(_SELECT_STORE_ID)[0][0])

    def _query_listed(self, start: str, values: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a statement that ends with a list of these values, once for each MAX_LIST."""
        every = list(values)
        for first in range(0, len(every), MAX_LIST):
            part = every[first : first + MAX_LIST]
            yield from self._db.query(f"{start} ({number_parameters(1, len(part))})", *part)

    @contextmanager
    def _begin_write(self, task: TaskId, claim: Claim | None) -> Generator[None]:
        """Write in a transaction; raise ClaimLost first if the claim is lost."""
        with nullcontext() if self._db.in_transaction else self.transaction():
            if claim is not None:
                found = self._db.run(_SELECT_STATE, task)
                claim.require(task, found[0][0] if found else None)
            yield

    def _insert_record(self, record: Record) -> bool:
        kind, body = codec.encode_event(record.event)
        values = (record.task, record.seq, record.at, kind, record.step, record.basis, body)
        return self._db.change(_INSERT_RECORD, *values) == 1

    def _write_row(self, row: TaskRow) -> None:
        if row.removed:
            # Its records stay, so that its id is not used again.
            self._db.run(_DELETE_TASK, row.id)
            return
        self._db.run(_UPSERT_TASK, *_to_values(_redact_row(row)))

    def _insert_notices(self, task: TaskId, at: float, notices: Sequence[Notice]) -> None:
        if not notices:
            return
        rows = [(task, at, kind, body) for kind, body in codec.encode_notices(notices)]
        self._db.run_each(_INSERT_NOTICE, rows)

    def _is_running(self, task: TaskId, number: int) -> bool:
        return self._db.run(_SELECT_NEWEST, task) == [(number, "running")]

    def _update(self, attempt: Attempt, ended_at: float | None = None) -> None:
        values = (attempt.status, codec.encode_attempt(attempt), ended_at, attempt.cost_usd)
        self._db.run(_UPDATE_ATTEMPT, *values, attempt.task, attempt.number)

    def _finish(self, attempt: Attempt, at: float) -> None:
        self._update(attempt, at)
        self._insert_notices(attempt.task, at, [codec.create_ended_notice(attempt)])


class OpenedJournal(Struct, frozen=True):
    """A journal, and what was changed when it was opened, for the user."""

    journal: SqlJournal
    notes: tuple[str, ...] = ()


def _redact_row(row: TaskRow) -> TaskRow:
    """Return the row without secrets in its texts, which are searched together: most have none."""
    texts = b"\n".join((row.title.encode("utf-8", "surrogatepass"), row.state))
    if redact_bytes(texts) is texts:
        return row
    return replace(row, title=redact_text(row.title), state=redact_bytes(row.state))


def _to_values(row: TaskRow) -> tuple[Any, ...]:
    *columns, _ = astuple(row)
    before, after, behind = columns[:10], columns[10], columns[11:]
    return *before, " ".join(after), *behind


def _to_row(found: tuple[Any, ...]) -> TaskRow:
    *plain, is_open, after, not_before, after_any, pipeline, at_once, cost_usd, archived_at, need, at = found
    return TaskRow(
        *plain,
        open=bool(is_open),
        after=tuple(after.split()),
        not_before=not_before,
        after_any=bool(after_any),
        pipeline=pipeline,
        max_parallel=at_once,
        cost_usd=cost_usd,
        archived_at=archived_at,
        need=need,
        queued_at=at,
    )
