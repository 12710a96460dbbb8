"""The store in a PostgreSQL database, as a Database."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg

from ostler.errors import Code, OstlerError
from ostler.files.failpoint import reach
from ostler.store.busy import JournalLocked, StopRequest, wait_while_busy
from ostler.store.database import Value
from ostler.store.postgres.address import Address
from ostler.store.postgres.connection import Connection, NoAnswer, connect
from ostler.store.postgres.errors import (
    Busy,
    Unavailable,
    connect_error,
    lost_error,
    translate,
)
from ostler.store.postgres.schema import (
    SELECT_IDENTITY,
    Identity,
    mark_commit,
    open_schema,
    read_identity,
    require_supported,
    select_mark,
    to_identity,
)
from ostler.store.repeat import TransactionLost

_T = TypeVar("_T")
_GIVE_UP_SECONDS = 10.0  # without another try, after the wait of a run that is being stopped
_PAUSES = (0.05, 1.0)  # seconds between two tries: the first pause, and the longest


class PostgresDatabase:
    """A Database that several machines can open at the same time.

    A broken connection is made again. A transaction that it breaks raises TransactionLost, unless it is known
    to be committed: the server is asked.
    """

    def __init__(
        self,
        address: Address,
        *,
        create: bool = False,
        busy_timeout_seconds: float = 5.0,
        failpoints: tuple[str, str] = ("", ""),  # before and after a commit
        wait_seconds: float = 0.0,  # for the server or another process, with a printed line
        stop: StopRequest | None = None,  # ends that wait
    ) -> None:
        self.address = address
        self.wait_seconds = wait_seconds
        self.stop = stop or StopRequest()
        self.machine = ""
        self.clock_offset = 0.0  # of the server's clock to that of this machine, in seconds
        self._failpoints = failpoints
        self._busy_timeout_seconds = busy_timeout_seconds
        self._connection: Connection | None = None
        self._open: Connection | None = None  # the connection of the open transaction
        self._writer = os.urandom(8).hex()
        self._number = 0  # of its last transaction
        self._has_written = False
        self._changes = 0  # the last known number of transactions
        self._broken: OstlerError | None = None
        self._given_up: Unavailable | None = None  # what ended the wait of a run that is being stopped
        self._given_up_until = 0.0
        self._opened: Identity | None = None
        self._create = create
        self._repeat(self._connect)

    @property
    def store_id(self) -> str:
        assert self._opened is not None
        return self._opened.store_id

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # Reading

    def query(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        if self._open is not None:
            return self._execute(self._open, sql, values)[0]
        return self._repeat(lambda: self._execute(self._connect(), sql, values)[0])

    def require_present(self) -> None:
        """Raise JOURNAL_LOST if the tables were deleted or replaced since they were opened."""
        self.version()

    def version(self) -> int:
        found = self._repeat(self._read_identity)
        return found.changes

    # Writing

    @property
    def in_transaction(self) -> bool:
        return self._open is not None

    def run(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        assert self._open is not None, "no transaction is open"
        rows, changed = self._execute(self._open, sql, values)
        self._has_written = self._has_written or changed > 0
        return rows

    def run_each(self, sql: str, rows: Sequence[tuple[Value, ...]]) -> None:
        for values in rows:
            self.run(sql, *values)

    def change(self, sql: str, *values: Value) -> int:
        assert self._open is not None, "no transaction is open"
        rows = self._execute(self._open, sql, values)[1]
        self._has_written = self._has_written or rows > 0
        return rows

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Generator[None]:
        """Commit everything that is written inside, durably; roll back on an error."""
        if self._broken is not None:
            raise self._broken
        before, after = self._failpoints
        self._open = self._repeat(self._begin)
        try:
            yield
            reach(before)
            self._commit(self._open)
        except BaseException as error:
            self._roll_back(self._open)
            if isinstance(error, OstlerError) and error.code is Code.JOURNAL_LOST:
                self._broken = error
            raise
        finally:
            self._open = None
            self._has_written = False
        reach(after)

    # Internal

    def _begin(self) -> Connection:
        connection = self._connect()
        lock = f"SELECT pg_advisory_xact_lock({self.address.lock_key})"
        with self._translate(connection):
            found = connection.run_script(f"BEGIN; {lock}; {SELECT_IDENTITY}")[-1]
        try:
            self._check(to_identity(found[0]) if found else None)
        except OstlerError:
            self._roll_back(connection)
            raise
        return connection

    def _commit(self, connection: Connection) -> None:
        self._number += 1
        wrote = mark_commit(self.address, self._writer, self._number)
        try:
            with self._translate(connection):
                connection.run_script(f"{wrote if self._has_written else ''}COMMIT")
        except Unavailable as lost:
            if self._has_written and not self._was_committed(lost):
                raise TransactionLost(lost.message) from lost
        except Busy as busy:
            raise self._lose_transaction(busy) from busy

    def _was_committed(self, lost: Unavailable) -> bool:
        """Return whether the server has made the last commit, whose answer was lost."""
        try:
            return self._repeat(self._read_mark) == self._number
        except (Unavailable, Busy, JournalLocked) as error:
            hint = "it is not known whether the change was recorded: look before you repeat it"
            raise Unavailable(self.address, lost.reason, hint) from error

    def _read_mark(self) -> int:
        connection = self._connect()
        # The lock is held until the end of that transaction, so its mark is final after we had the lock.
        lock = f"SELECT pg_advisory_xact_lock({self.address.lock_key})"
        with self._translate(connection):
            found = connection.run_script(f"BEGIN; {lock}; {select_mark(self._writer)}; COMMIT")[2]
        return found[0][0] if found else 0

    def _roll_back(self, connection: Connection) -> None:
        if connection.closed:
            return
        try:
            connection.run_script("ROLLBACK")
        except (psycopg.Error, NoAnswer):
            connection.close()

    def _execute(
        self, connection: Connection, sql: str, values: tuple[Value, ...]
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Return the rows, and how many rows were changed."""
        try:
            with self._translate(connection):
                cursor = connection.cursor(binary=True)
                cursor.execute(sql.encode(), [_adapt(value) for value in values] or None)
                rows = cursor.fetchall() if cursor.description else []
        except (Unavailable, Busy) as lost:
            if connection is self._open:
                raise self._lose_transaction(lost) from lost
            raise
        reads = (cursor.statusmessage or "").startswith("SELECT")
        return rows, 0 if reads else cursor.rowcount

    def _lose_transaction(self, lost: Unavailable | Busy) -> OstlerError:
        """Return the error for a statement that ended its transaction; a run waits for a locked table."""
        return lost if isinstance(lost, Busy) and not self.wait_seconds else TransactionLost(lost.message)

    def _read_identity(self) -> Identity:
        connection = self._open or self._connect()
        with self._translate(connection):
            found = connection.run_script(SELECT_IDENTITY)[0]
        return self._check(to_identity(found[0]) if found else None)

    def _connect(self) -> Connection:
        """Return the connection; made again if it is broken."""
        if self._connection is not None and not self._connection.closed:
            return self._connection
        try:
            connection = connect(self.address, self.stop, self._busy_timeout_seconds)
        except (psycopg.OperationalError, NoAnswer) as error:
            raise connect_error(self.address, error) from error
        try:
            with self._translate(connection):
                if self._opened is None:
                    self._opened = open_schema(connection, self.address, create=self._create)
                self._check(read_identity(connection))
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _check(self, found: Identity | None) -> Identity:
        """Raise JOURNAL_LOST if this is another store than the one that was opened."""
        assert self._opened is not None
        if found is None:
            raise lost_error(self.address, "the tables of the project are gone")
        if found.store_id != self._opened.store_id:
            raise lost_error(self.address, "its tables were replaced by those of another project")
        if found.changes < self._changes:
            raise lost_error(self.address, "it is at an earlier state, as from a backup or an old replica")
        require_supported(self.address, found)
        self._changes, self.machine = found.changes, found.machine
        # A difference of less than a second is also the time of the answer.
        self.clock_offset = float(round(found.now - time.time()))
        return found

    @contextmanager
    def _translate(self, connection: Connection) -> Generator[None]:
        try:
            yield
        except (psycopg.Error, NoAnswer) as error:
            translated = translate(self.address, error)
            if isinstance(translated, Unavailable):
                connection.close()  # the state of its transaction is not known
            elif connection is not self._open and not connection.closed:
                self._roll_back(connection)
            if translated is None:
                raise
            raise translated from error

    def _repeat(self, call: Callable[[], _T]) -> _T:
        """Repeat a call until the server answers and no other process holds the lock, or the wait is over."""
        started_at = time.monotonic()
        if self._given_up is not None and started_at < self._given_up_until:
            raise self._given_up
        try:
            return call()
        except (Unavailable, Busy) as first:
            error: Unavailable | Busy = first
        if isinstance(error, Busy) and not self.wait_seconds:
            raise error  # the server has waited for the lock
        pause, longest = _PAUSES
        next_at = time.monotonic()
        results: list[_T] = []

        def try_again() -> bool:
            nonlocal error, pause, next_at
            if time.monotonic() < next_at:
                return False
            try:
                results.append(call())
            except (Unavailable, Busy) as again:
                error = again
                pause = min(2 * pause, longest)
                next_at = time.monotonic() + pause
                return False
            return True

        end = wait_while_busy(
            try_again,
            lambda: f"waiting for {self.address}: {error.reason}",
            wait_seconds=self.wait_seconds or self._busy_timeout_seconds,
            waited_seconds=time.monotonic() - started_at,
            stop=self.stop,
        )
        if end == "late" and self.wait_seconds:
            raise JournalLocked(
                error.code,
                f"{self.address} could not be used for {self.wait_seconds / 60:g} min: {error.reason}",
                "make it available, then run again; the answers of agents are kept",
            )
        if end != "done":
            if isinstance(error, Unavailable) and self.stop.is_over():
                # A run that ends reads in many places: each of them would wait for a connection.
                self._given_up, self._given_up_until = error, time.monotonic() + _GIVE_UP_SECONDS
            raise error
        return results[0]


def _adapt(value: Value) -> Value:
    """Return a value that the server accepts: its text has no NUL."""
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value
