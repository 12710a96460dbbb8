"""The SQLite file of the accounts: opened on use, replaced when damaged, kept in memory when unusable."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from ostler.errors import OstlerError
from ostler.files.atomic import create_exclusive, make_private_dir
from ostler.files.failpoint import reach
from ostler.store.sqlite.identity import FileIdentity, read_identity
from ostler.store.sqlite.statement import Value, run

# Another version of Ostler with other tables uses another file.
FILE_NAME = "limits-1.db"
_TABLES = """
-- A window that a provider closed, until a probe finds it open again.
CREATE TABLE closed_window (
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
    closings INTEGER NOT NULL,
    reported INTEGER NOT NULL,
    PRIMARY KEY (provider, account, model, name)
) WITHOUT ROWID;

-- The last report of a provider about one of its windows.
CREATE TABLE window_use (
    provider TEXT NOT NULL,
    account TEXT NOT NULL,
    model TEXT NOT NULL,
    name TEXT NOT NULL,
    reported BLOB NOT NULL,
    resets_at REAL,
    noted_at REAL NOT NULL,
    label TEXT NOT NULL,
    PRIMARY KEY (provider, account, model, name)
) WITHOUT ROWID;
"""
_WAL_FORMAT = slice(18, 20)  # read and write version of the file format; 2 is write-ahead logging
# A limit that a power cut removes costs one call, which the provider rejects: commits are not flushed.
_SETTINGS = "PRAGMA synchronous = NORMAL"
_BUSY_MS = 5000
_RETRY_SECONDS = 60.0  # before an unusable file is tried again


class AccountFile:
    """A connection for one thread; without a usable file, the values are kept in memory."""

    def __init__(
        self, path: Path | None, on_problem: Callable[[str], None], *, is_read_only: bool = False
    ) -> None:
        self.path = path
        self._is_read_only = is_read_only
        self._on_problem = on_problem
        self._db: apsw.Connection | None = None
        self._identity: FileIdentity | None = None
        self._memory: apsw.Connection | None = None
        self._retry_at = 0.0
        self._is_reported = False

    def close(self) -> None:
        for db in (self._db, self._memory):
            if db is not None:
                db.close()
        self._db = self._memory = None

    def query(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        """Return the rows of a statement that changes nothing."""
        return run(self._connection(), sql, *values)

    @contextmanager
    def transaction(self) -> Generator[apsw.Connection]:
        """Commit everything that is written inside; roll back on an error."""
        db = self._connection()
        run(db, "BEGIN IMMEDIATE")
        try:
            yield db
            reach("accounts.write")
            run(db, "COMMIT")
            reach("accounts.written")
        except BaseException:
            if db.in_transaction:
                run(db, "ROLLBACK")
            raise

    def _connection(self) -> apsw.Connection:
        if self.path is None or time.monotonic() < self._retry_at:
            return self._in_memory()
        if self._db is not None and read_identity(self.path) == self._identity:
            return self._db
        self._close_file()
        self._db = _connect_read_only(self.path) if self._is_read_only else _open(self.path)
        self._identity = read_identity(self.path)
        return self._db

    def _close_file(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            db.close()

    def _in_memory(self) -> apsw.Connection:
        if self._memory is None:
            self._memory = apsw.Connection(":memory:")
            run(self._memory, _TABLES)
        return self._memory

    def use_memory(self, error: Exception) -> None:
        """Keep the values of this process in memory for a while; print why, once."""
        if self.path is None or time.monotonic() < self._retry_at:
            raise error
        self._retry_at = time.monotonic() + _RETRY_SECONDS
        self._close_file()
        if not self._is_reported:
            self._is_reported = True
            self._on_problem(
                f"limits are not shared with other projects: {self.path} cannot be used ({error});"
                " check that its directory belongs to you and is writable"
            )


def _open(path: Path) -> apsw.Connection:
    try:
        return _connect(path)
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError):
        # Providers report their limits again, so nothing is lost that a person needs.
        path.replace(path.with_name(f"{path.name}.damaged"))
        return _connect(path)


def _connect(path: Path) -> apsw.Connection:
    if not path.exists():
        _create(path)
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.set_busy_timeout(_BUSY_MS)
        # It would flush, and it would delete the log of another file that is at this path by then.
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        run(db, _SETTINGS)
        run(db, "SELECT closings FROM closed_window LIMIT 1; SELECT label FROM window_use LIMIT 1")
    except BaseException:
        db.close()
        raise
    return db


def _connect_read_only(path: Path) -> apsw.Connection:
    """Open an existing file; raise apsw.Error without one."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    db.set_busy_timeout(_BUSY_MS)
    return db


def _create(path: Path) -> None:
    try:
        make_private_dir(path.parent, durable=False)
        # SQLite would apply the log of a file that was deleted.
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        create_exclusive(path, _empty_file(), durable=False)
    except OstlerError as error:
        raise OSError(error.message) from error


def _empty_file() -> bytes:
    db = apsw.Connection(":memory:")
    run(db, _TABLES)
    image = bytearray(db.serialize("main"))
    image[_WAL_FORMAT] = b"\x02\x02"
    db.close()
    return bytes(image)
