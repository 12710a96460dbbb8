"""The tables of the database and the migrations between their versions."""

from __future__ import annotations

import os
from collections.abc import Callable

import apsw

from ostler.files.failpoint import reach
from ostler.store.sqlite.statement import run

APPLICATION_ID = 0x4F73746C  # "Ostl", in the file's header

_FIRST = """
CREATE TABLE identity (store_id TEXT NOT NULL);

-- Records and notices; only a record has a seq. Positions are never used twice.
CREATE TABLE feed (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    task TEXT NOT NULL,
    seq INTEGER,
    at REAL NOT NULL,
    type TEXT NOT NULL,
    step TEXT NOT NULL,
    basis INTEGER NOT NULL,
    body BLOB NOT NULL
);
-- Claim, fence and idempotency: the second record of a seq is refused.
CREATE UNIQUE INDEX record_once ON feed (task, seq);

CREATE TABLE task (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    status TEXT NOT NULL,
    title TEXT NOT NULL,
    priority TEXT NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    state BLOB NOT NULL,
    resumes_at REAL,
    open INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX open_tasks ON task (created_at) WHERE open;

CREATE TABLE attempt (
    task TEXT NOT NULL,
    number INTEGER NOT NULL,
    status TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (task, number)
) WITHOUT ROWID;
"""

_LIMITS = """
-- A window that a provider closed, until someone's probe finds it open again.
CREATE TABLE limit_window (
    provider TEXT NOT NULL,
    account TEXT NOT NULL,
    model TEXT NOT NULL,
    name TEXT NOT NULL,
    until REAL NOT NULL,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    noted_at REAL NOT NULL,
    probing_until REAL,
    prober TEXT NOT NULL,
    PRIMARY KEY (provider, account, model, name)
) WITHOUT ROWID;

-- A choice that failed lately; with `until` it rests.
CREATE TABLE breaker (
    choice TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    until REAL,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    noted_at REAL NOT NULL,
    trying_until REAL
) WITHOUT ROWID;

-- The repeats of the last hour.
CREATE TABLE repeat (at REAL NOT NULL);
CREATE INDEX repeats_by_time ON repeat (at);

-- Attempts that ended before these columns were there have neither.
ALTER TABLE attempt ADD COLUMN ended_at REAL;
ALTER TABLE attempt ADD COLUMN cost_usd REAL;
CREATE INDEX ended_attempts ON attempt (ended_at, cost_usd) WHERE ended_at IS NOT NULL;

-- The tasks that must be completed before: their ids, with spaces between them.
ALTER TABLE task ADD COLUMN waits_for TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN not_before REAL;
"""

_PIPELINES = """
ALTER TABLE task ADD COLUMN after_any INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN pipeline TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN at_once INTEGER NOT NULL DEFAULT 0;
CREATE INDEX tasks_of_pipelines ON task (pipeline) WHERE pipeline <> '';
"""

_LISTING = """
ALTER TABLE task ADD COLUMN cost_usd REAL;
UPDATE task SET cost_usd = json_extract(CAST(state AS TEXT), '$.cost_usd')
    WHERE json_valid(CAST(state AS TEXT));
-- Everything that a page of the list is found and ordered by; no state is read for it.
CREATE INDEX listed_tasks ON task (updated_at, id, status, title, priority, created_at, pipeline, cost_usd);
"""

_OUTBOX = """
-- How far each reader of the feed has come.
CREATE TABLE reader (name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;

-- What a reader has found to be told, until it is; without a due time it was given up.
CREATE TABLE outbox (
    position INTEGER NOT NULL,
    target TEXT NOT NULL,
    body BLOB NOT NULL,
    due_at REAL,
    tries INTEGER NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (position, target)
) WITHOUT ROWID;
"""

_WRITER = """
-- The version whose names a row has; rows without one were renamed by this step.
ALTER TABLE feed ADD COLUMN version INTEGER;
-- A process of an older version that has the journal open would write names that are no longer read.
CREATE TRIGGER refuse_older_writers BEFORE INSERT ON feed WHEN NEW.version IS NULL
BEGIN
    SELECT RAISE(ABORT, 'a newer Ostler has upgraded this journal: restart this process');
END;
"""

_CIRCUITS = """
-- How often the window was closed in a row, and whether the feed has a notice about it.
ALTER TABLE limit_window ADD COLUMN closings INTEGER NOT NULL DEFAULT 1;
ALTER TABLE limit_window ADD COLUMN reported INTEGER NOT NULL DEFAULT 0;

-- The model that round-robin uses next: its index among these models.
CREATE TABLE model_turn (models TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID;
"""

_GATES = """
-- Whether a gate fails when the work is broken; the key covers its command, lockfiles, scripts and isolation.
CREATE TABLE gate_control (
    key TEXT PRIMARY KEY,
    gate TEXT NOT NULL,
    command TEXT NOT NULL,
    isolation TEXT NOT NULL,
    result TEXT NOT NULL,
    detail TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    checked_at REAL NOT NULL
) WITHOUT ROWID;

-- Commands of gates that a person accepted in spite of their control.
CREATE TABLE gate_acceptance (
    gate TEXT NOT NULL,
    command TEXT NOT NULL,
    accepted_by TEXT NOT NULL,
    accepted_at REAL NOT NULL,
    PRIMARY KEY (gate, command)
) WITHOUT ROWID;
"""

_HOME = """
-- The project's directory, by which a copied journal is recognized; empty: not recorded yet.
ALTER TABLE identity ADD COLUMN home TEXT NOT NULL DEFAULT '';
"""

_ACCOUNTS = """
-- Limits of providers are in the user's ledger of accounts.
DROP TABLE limit_window;
"""

_RETRY_REPORT = """
-- When the feed last got a notice that the retries of the hour are used.
CREATE TABLE retry_report (at REAL NOT NULL);
"""

_FILE = """
-- The inode of the journal's file: a copy of it has another one; empty: not recorded yet.
ALTER TABLE identity ADD COLUMN file TEXT NOT NULL DEFAULT '';
"""

_ARCHIVE = """
-- When a person hid the task from the lists; null: it is listed.
ALTER TABLE task ADD COLUMN archived_at REAL;
DROP INDEX listed_tasks;
CREATE INDEX listed_tasks ON task
    (updated_at, id, status, title, priority, created_at, pipeline, cost_usd, archived_at);
"""

_REVIEWS = """
-- What a person sent about the work of a task; it does not change. `request` is an id made by the client.
CREATE TABLE review (
    task TEXT NOT NULL,
    number INTEGER NOT NULL,
    at REAL NOT NULL,
    request TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (task, number)
) WITHOUT ROWID;

-- Comments that are not sent yet, of each person.
CREATE TABLE review_draft (
    task TEXT NOT NULL,
    person TEXT NOT NULL,
    id TEXT NOT NULL,
    at REAL NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (task, person, id)
) WITHOUT ROWID;

-- Sent comments that a person marked as resolved.
CREATE TABLE review_resolved (
    task TEXT NOT NULL,
    comment TEXT NOT NULL,
    person TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (task, comment)
) WITHOUT ROWID;

-- Files that a person has viewed, as they were then.
CREATE TABLE review_viewed (
    task TEXT NOT NULL,
    person TEXT NOT NULL,
    path TEXT NOT NULL,
    blob TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (task, person, path)
) WITHOUT ROWID;
"""

_INBOX = """
-- What a task needs from a person, and since when it has its status (of an older row: the last change).
ALTER TABLE task ADD COLUMN need TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN status_since REAL NOT NULL DEFAULT 0;
UPDATE task SET status_since = updated_at;
UPDATE task SET need = CASE
        WHEN status = 'needs_review' THEN 'review'
        WHEN status IN ('failed', 'quarantined') THEN 'failed'
        WHEN status = 'paused' AND code = '' THEN 'paused'
        WHEN status = 'blocked' AND code IN ('GATE_REJECTED', 'GATE_UNRUNNABLE') THEN 'review'
        WHEN status = 'blocked' AND code IN ('DEPENDENCY_FAILED', 'TASK_NOT_EXECUTABLE') THEN 'failed'
        WHEN status = 'blocked' THEN 'question'
        WHEN code IN ('ITERATION_LIMIT', 'NEEDS_INPUT', 'AGENT_BLOCKED', 'STUCK') THEN 'question'
        ELSE 'failed' END
    FROM (
        SELECT id AS found, coalesce(json_extract(CAST(state AS TEXT), '$.code'), '') AS code
        FROM task
        WHERE archived_at IS NULL AND json_valid(CAST(state AS TEXT))
            AND status IN ('needs_review', 'blocked', 'paused', 'failed', 'quarantined')
    ) AS waiting
    WHERE id = found;
CREATE INDEX inbox ON task (need, priority, status_since, id) WHERE need <> '';
"""

_QUEUE = """
-- The time that counts for the place of a task in the queue; NULL: of its creation. The list of tasks is read
-- from one index.
ALTER TABLE task ADD COLUMN queued_at REAL;
DROP INDEX listed_tasks;
CREATE INDEX listed_tasks ON task
    (updated_at, id, status, title, priority, created_at, pipeline, cost_usd, archived_at, queued_at);
"""

_PAGES = """
-- How many tasks have this status, need and priority: counting the tasks would read each of them.
CREATE TABLE task_count (
    status TEXT NOT NULL,
    need TEXT NOT NULL,
    priority TEXT NOT NULL,
    archived INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (status, need, priority, archived)
) WITHOUT ROWID;
INSERT INTO task_count
    SELECT status, need, priority, archived_at IS NOT NULL AS archived, count(*)
    FROM task GROUP BY status, need, priority, archived;
CREATE TRIGGER count_added AFTER INSERT ON task
BEGIN
    INSERT INTO task_count VALUES (NEW.status, NEW.need, NEW.priority, NEW.archived_at IS NOT NULL, 1)
        ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;
CREATE TRIGGER count_removed AFTER DELETE ON task
BEGIN
    UPDATE task_count SET tasks = tasks - 1
        WHERE (status, need, priority, archived)
            = (OLD.status, OLD.need, OLD.priority, OLD.archived_at IS NOT NULL);
END;
CREATE TRIGGER count_changed AFTER UPDATE ON task
WHEN (OLD.status, OLD.need, OLD.priority, OLD.archived_at IS NOT NULL)
    <> (NEW.status, NEW.need, NEW.priority, NEW.archived_at IS NOT NULL)
BEGIN
    UPDATE task_count SET tasks = tasks - 1
        WHERE (status, need, priority, archived)
            = (OLD.status, OLD.need, OLD.priority, OLD.archived_at IS NOT NULL);
    INSERT INTO task_count VALUES (NEW.status, NEW.need, NEW.priority, NEW.archived_at IS NOT NULL, 1)
        ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;

-- A page of each status is read from one index, which has everything that a list is found and ordered by.
DROP INDEX listed_tasks;
CREATE INDEX listed_tasks ON task
    (status, updated_at, id, title, priority, created_at, pipeline, cost_usd, archived_at, queued_at, need);
-- The queue, as a run starts its tasks. The conditions are those of the queries, word for word.
CREATE INDEX queued_tasks ON task (priority, coalesce(queued_at, created_at), id)
    WHERE need = '' AND status NOT IN
        ('in_progress', 'completed', 'approved', 'failed', 'quarantined', 'cancelled', 'abandoned');
CREATE INDEX dependent_tasks ON task (priority, id) WHERE open AND waits_for <> '';
"""


def _standard_names(db: apsw.Connection) -> None:
    from ostler.store.sqlite.upgrade import rewrite_names  # noqa: PLC0415  (needed once per journal)

    rewrite_names(db)
    run(db, _WRITER)


Migration = str | Callable[[apsw.Connection], None]
MIGRATIONS: tuple[Migration, ...] = (
    _FIRST,
    _LIMITS,
    _PIPELINES,
    _LISTING,
    _OUTBOX,
    _standard_names,
    _CIRCUITS,
    _GATES,
    _HOME,
    _ACCOUNTS,
    _RETRY_REPORT,
    _FILE,
    _ARCHIVE,
    _REVIEWS,
    _INBOX,
    _QUEUE,
    _PAGES,
)
"""Entry n leads from version n to n + 1: SQL, or a function. Released entries are never edited."""

_WAL_FORMAT = slice(18, 20)  # read and write version of the file format; 2 is write-ahead logging


def newest_version() -> int:
    return len(MIGRATIONS)


def version_of(db: apsw.Connection) -> int:
    return _pragma(db, "user_version")


def is_ours(db: apsw.Connection) -> bool:
    return _pragma(db, "application_id") == APPLICATION_ID


def migrate(db: apsw.Connection, before: Callable[[int], None] = lambda _: None) -> None:
    """Migrate the tables to the newest version in one transaction.

    `before` receives the present version, while no other process can write; if it raises, nothing is changed.
    """
    run(db, "BEGIN IMMEDIATE")
    try:
        found = version_of(db)
        if found < newest_version():
            before(found)
        for number in range(found, newest_version()):
            step = MIGRATIONS[number]
            run(db, step) if isinstance(step, str) else step(db)
            run(db, f"PRAGMA user_version = {number + 1}")
        reach("store.migrate")
        run(db, "COMMIT")
    except BaseException:
        if db.in_transaction:
            run(db, "ROLLBACK")
        raise


def empty_store() -> bytes:
    """Return the bytes of a new database file, in write-ahead mode, with a random store id."""
    db = apsw.Connection(":memory:")
    run(db, f"PRAGMA application_id = {APPLICATION_ID}")
    migrate(db)
    run(db, "INSERT INTO identity (store_id) VALUES (?)", os.urandom(8).hex())
    image = bytearray(db.serialize("main"))
    image[_WAL_FORMAT] = b"\x02\x02"
    db.close()
    return bytes(image)


def _pragma(db: apsw.Connection, name: str) -> int:
    return run(db, f"PRAGMA {name}")[0][0]
