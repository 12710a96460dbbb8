"""The journal in one SQLite file; a connection is for one thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from msgspec import Raw
from msgspec.structs import astuple, replace

from ostler.model.attempt import Attempt, TaskRow
from ostler.model.event import FeedLine, Record
from ostler.model.ids import TaskId
from ostler.model.notice import Notice
from ostler.model.sandbox import RefusedAccess
from ostler.secrets.redact import redact_bytes, redact_text
from ostler.store import codec
from ostler.store.busy import StopRequest
from ostler.store.database import Database
from ostler.store.identity import Home
from ostler.store.journal import FEED_LIMIT
from ostler.store.listing import Listing
from ostler.store.queries.refusals import SELECT_REFUSALS, count_refusals
from ostler.store.recovery.backup import copy_database
from ostler.store.recovery.rescue import copy_lost_journal
from ostler.store.sqlite_errors import translate_errors

CHECK_UP_TO = 1 << 20  # bytes

# 6 is the version of the names in what is written; a row without one is refused.
_INSERT_RECORD = """
    INSERT INTO feed (task, seq, at, type, step, basis, body, version) VALUES (?, ?, ?, ?, ?, ?, ?, 6)
    ON CONFLICT DO NOTHING"""
_INSERT_NOTICE = "INSERT INTO feed (task, at, type, step, basis, body, version) VALUES (?, ?, ?, '', 0, ?, 6)"
_UPSERT_TASK = """
    INSERT INTO task (id, seq, status, title, priority, created_at, updated_at, state, resumes_at, open,
        waits_for, not_before, after_any, pipeline, at_once, cost_usd, archived_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, status = excluded.status, title = excluded.title,
        priority = excluded.priority, created_at = excluded.created_at, updated_at = excluded.updated_at,
        state = excluded.state, resumes_at = excluded.resumes_at, open = excluded.open,
        waits_for = excluded.waits_for, not_before = excluded.not_before, after_any = excluded.after_any,
        pipeline = excluded.pipeline, at_once = excluded.at_once, cost_usd = excluded.cost_usd,
        archived_at = excluded.archived_at"""
_DELETE_TASK = "DELETE FROM task WHERE id = ?"
_INSERT_ATTEMPT = "INSERT INTO attempt (task, number, status, body) VALUES (?, ?, ?, ?)"
_SELECT_ATTEMPT = "SELECT body FROM attempt WHERE task = ? AND number = ?"
_UPDATE_ATTEMPT = """
    UPDATE attempt SET status = ?, body = ?, ended_at = ?, cost_usd = ? WHERE task = ? AND number = ?"""
_SELECT_NEWEST = "SELECT number, status FROM attempt WHERE task = ? ORDER BY number DESC LIMIT 1"
_SELECT_RUNNING = "SELECT body FROM attempt WHERE task = ? AND status = 'running' ORDER BY number"
_SELECT_ATTEMPTS = "SELECT body FROM attempt WHERE task = ? ORDER BY number"
_LAST_NOTICE = "SELECT max(at) FROM feed WHERE task = ? AND seq IS NULL AND type = ?"
_SELECT_RECORDS = "SELECT seq, at, type, body, step, basis FROM feed WHERE task = ? AND seq > ? ORDER BY seq"
_TASK = """
    SELECT id, seq, status, title, priority, created_at, updated_at, state, resumes_at, open, waits_for,
        not_before, after_any, pipeline, at_once, cost_usd, archived_at
    FROM task"""
_SELECT_TASK = f"{_TASK} WHERE id = ?"
_IDS = "(SELECT value FROM json_each(?))"
_SELECT_BY_ID = f"{_TASK} WHERE id IN {_IDS}"
_SELECT_TASKS = f"{_TASK} ORDER BY created_at, id"
_SELECT_OPEN_TASKS = f"{_TASK} WHERE open ORDER BY created_at, id"
_IN_PIPELINES = "pipeline <> '' AND pipeline IN (SELECT value FROM json_each(?))"
_SELECT_PIPELINES = f"{_TASK} WHERE {_IN_PIPELINES} ORDER BY created_at, id"
_SELECT_STATUSES = "SELECT id, status FROM task WHERE id IN (SELECT value FROM json_each(?))"
_FIND_TASKS = "SELECT id FROM task WHERE id >= ?1 AND id < ?1 || char(0x10FFFF) ORDER BY id"
_SELECT_FEED = "SELECT position, at, task, body FROM feed WHERE position > ? ORDER BY position LIMIT ?"
_FIND_DEFERRAL = """
    SELECT 1 FROM feed WHERE position < ? AND type = 'task_deferred'
        AND json_extract(CAST(body AS TEXT), '$.code') = ?
        AND json_extract(CAST(body AS TEXT), '$.resumes_at') = ?
    ORDER BY position DESC LIMIT 1"""
# Notices are found by the index from `after` on; a task has few records.
_SELECT_FEED_OF_TASK = """
    SELECT position, at, task, body FROM feed WHERE task = ?1 AND seq IS NULL AND position > ?2
    UNION ALL
    SELECT position, at, task, body FROM feed WHERE task = ?1 AND seq IS NOT NULL AND position > ?2
    ORDER BY position LIMIT ?3"""
_SELECT_POSITION = "SELECT coalesce(max(position), 0) FROM feed"
_SELECT_HOME = "SELECT home, file FROM identity"
_UPDATE_IDENTITY = "UPDATE identity SET home = ?, file = ?, store_id = ? WHERE home = ? AND file = ?"
_SELECT_STORE_ID = "SELECT store_id FROM identity"
_SELECT_VERSION = "PRAGMA data_version"


class SqliteJournal:
    """A Journal that all processes of a project can open at the same time."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        busy_timeout_seconds: float = 5.0,
        check_up_to: int = CHECK_UP_TO,
        wait_seconds: float = 0.0,
        stop: StopRequest | None = None,
    ) -> None:
        self.path = path
        self._db = Database(
            path,
            create=create,
            busy_timeout_seconds=busy_timeout_seconds,
            check_up_to=check_up_to,
            failpoints=("journal.append", "journal.appended"),
            wait_seconds=wait_seconds,
            stop=stop,
        )
        self.stop_request = self._db.stop
        self.backup = self._db.backup
        self.store_id = str(self._db.query(_SELECT_STORE_ID)[0][0])
        self.listing = Listing(self._db)

    def __enter__(self) -> SqliteJournal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def wait_when_busy(self, seconds: float) -> None:
        """Let writes wait so long for another process; by default they fail after the busy timeout."""
        self._db.wait_seconds = seconds

    # Writing

    def transaction(self) -> AbstractContextManager[None]:
        """Commit everything that is written inside together; roll back on an error."""
        return self._db.transaction()

    def read_home(self) -> Home:
        """Return the directory and the file that the journal belongs to."""
        return Home(*self._db.query(_SELECT_HOME)[0])

    def set_home(self, before: Home, home: Home, store_id: str) -> None:
        """Record where the journal is, and its id, unless another process was faster."""
        self._db.allow_id(store_id)
        with self.transaction():
            self._db.run(_UPDATE_IDENTITY, *home, store_id, *before)
        self.store_id = str(self._db.query(_SELECT_STORE_ID)[0][0])

    def append(self, record: Record, row: TaskRow, notices: Sequence[Notice] = ()) -> bool:
        with self._ensure_transaction():
            if not self._insert_record(record):
                return False
            self._write_row(row)
            self._insert_notices(record.task, record.at, notices)
            return True

    def notify(self, task: TaskId, at: float, notices: Sequence[Notice]) -> None:
        with self._ensure_transaction():
            self._insert_notices(task, at, notices)

    def begin_attempt(self, attempt: Attempt) -> int:
        with self._ensure_transaction():
            for running in self._db.run(_SELECT_RUNNING, attempt.task):
                self._finish(codec.mark_interrupted(codec.decode_attempt(running[0])), attempt.started_at)
            newest = self._db.run(_SELECT_NEWEST, attempt.task)
            started = replace(attempt, number=newest[0][0] + 1 if newest else 1)
            body = codec.encode_attempt(started)
            self._db.run(_INSERT_ATTEMPT, started.task, started.number, started.status, body)
            self._insert_notices(started.task, started.started_at, [codec.create_started_notice(started)])
            return started.number

    def set_session(self, task: TaskId, number: int, session_id: str) -> bool:
        with self._ensure_transaction():
            if not self._is_running(task, number):
                return False
            known = codec.decode_attempt(self._db.run(_SELECT_ATTEMPT, task, number)[0][0])
            self._update(replace(known, session_id=session_id))
            return True

    def end_attempt(self, attempt: Attempt) -> bool:
        with self._ensure_transaction():
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

    def row(self, task: TaskId) -> TaskRow | None:
        found = self._db.query(_SELECT_TASK, task)
        return _to_row(found[0]) if found else None

    def rows(self) -> list[TaskRow]:
        return [_to_row(found) for found in self._db.query(_SELECT_TASKS)]

    def open_rows(self) -> list[TaskRow]:
        return [_to_row(found) for found in self._db.query(_SELECT_OPEN_TASKS)]

    def named_rows(self, tasks: Sequence[TaskId]) -> list[TaskRow]:
        """Return these tasks in this order; missing tasks are left out."""
        found = {row.id: row for row in map(_to_row, self._db.query(_SELECT_BY_ID, codec.encode_ids(tasks)))}
        return [found[task] for task in tasks if task in found]

    def pipeline_rows(self, runs: Iterable[str]) -> list[TaskRow]:
        return [_to_row(found) for found in self._db.query(_SELECT_PIPELINES, codec.encode_ids(runs))]

    def statuses(self, tasks: Iterable[TaskId]) -> dict[TaskId, str]:
        ids = codec.encode_ids(tasks)
        return {TaskId(task): status for task, status in self._db.query(_SELECT_STATUSES, ids)}

    def find(self, prefix: str) -> list[TaskId]:
        found = [TaskId(row[0]) for row in self._db.query(_FIND_TASKS, prefix)]
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
        return count_refusals(body for (body,) in self._db.query(SELECT_REFUSALS, task))

    def last_notice(self, task: TaskId, kind: str) -> float:
        """Return the time of the task's last notice of a type; 0: there is none."""
        return self._db.query(_LAST_NOTICE, task, kind)[0][0] or 0.0

    def has_deferral(self, code: str, resumes_at: float, before: int) -> bool:
        """Return whether a task was deferred with this code until this time, before a position."""
        return bool(self._db.query(_FIND_DEFERRAL, before, code, resumes_at))

    def position(self) -> int:
        return self._db.query(_SELECT_POSITION)[0][0]

    def require_present(self) -> None:
        """Raise JOURNAL_LOST if the file was deleted, moved or replaced since it was opened."""
        self._db.require_present()

    def copy_to(self, target: Path) -> None:
        """Copy the journal to this file, also while other processes write."""
        with translate_errors(target):
            copy_database(self._db.connection, target)

    def find_damage(self) -> list[str]:
        """Check all pages and indexes; return what is damaged."""
        found = [str(row[0]).replace("\n", ", ") for row in self._db.query("PRAGMA integrity_check(10)")]
        return [] if found == ["ok"] else found

    def copy_lost(self, folders: Sequence[Path]) -> Path | None:
        """Copy a lost journal into one of these directories; return the copy, or None if that fails."""
        return copy_lost_journal(self._db.connection, self.store_id, folders)

    def version(self) -> int:
        self.require_present()
        return self._db.query(_SELECT_VERSION)[0][0]

    # Internal

    def _ensure_transaction(self) -> AbstractContextManager[object]:
        return nullcontext() if self._db.connection.in_transaction else self.transaction()

    def _insert_record(self, record: Record) -> bool:
        kind, body = codec.encode_event(record.event)
        values = (record.task, record.seq, record.at, kind, record.step, record.basis, body)
        self._db.run(_INSERT_RECORD, *values)
        return self._db.connection.changes() == 1

    def _write_row(self, row: TaskRow) -> None:
        if row.removed:
            # Its records stay, so that its id is not used again.
            self._db.run(_DELETE_TASK, row.id)
            return
        clean = replace(row, title=redact_text(row.title), state=redact_bytes(row.state))
        self._db.run(_UPSERT_TASK, *_to_values(clean))

    def _insert_notices(self, task: TaskId, at: float, notices: Sequence[Notice]) -> None:
        for notice in notices:
            kind, body = codec.encode_event(notice)
            self._db.run(_INSERT_NOTICE, task, at, kind, body)

    def _is_running(self, task: TaskId, number: int) -> bool:
        return self._db.run(_SELECT_NEWEST, task) == [(number, "running")]

    def _update(self, attempt: Attempt, ended_at: float | None = None) -> None:
        values = (attempt.status, codec.encode_attempt(attempt), ended_at, attempt.cost_usd)
        self._db.run(_UPDATE_ATTEMPT, *values, attempt.task, attempt.number)

    def _finish(self, attempt: Attempt, at: float) -> None:
        self._update(attempt, at)
        self._insert_notices(attempt.task, at, [codec.create_ended_notice(attempt)])


def _to_values(row: TaskRow) -> tuple[Any, ...]:
    *plain, after, not_before, after_any, pipeline, at_once, cost_usd, archived_at, _ = astuple(row)
    return *plain, " ".join(after), not_before, after_any, pipeline, at_once, cost_usd, archived_at


def _to_row(found: tuple[Any, ...]) -> TaskRow:
    *plain, is_open, after, not_before, after_any, pipeline, at_once, cost_usd, archived_at = found
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
    )
