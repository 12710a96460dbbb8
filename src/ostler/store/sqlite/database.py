"""The project's SQLite file as a Database."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from ostler.errors import Code, OstlerError
from ostler.files.failpoint import reach
from ostler.store.busy import JournalLocked, StopRequest, wait_while_busy
from ostler.store.database import Value
from ostler.store.sqlite.errors import DAMAGE, busy_error, translate_errors
from ostler.store.sqlite.identity import read_identity
from ostler.store.sqlite.opened_files import OpenedFiles
from ostler.store.sqlite.opening import connect
from ostler.store.sqlite.statement import run, run_each

_RETRY_MS = 200  # SQLite's own wait while a signal may end ours


class SqliteDatabase:
    """A Database that all processes of a project can open at the same time."""

    clock_offset = 0.0
    machine = ""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        busy_timeout_seconds: float = 5.0,
        check_up_to: int = 0,
        failpoints: tuple[str, str] = ("", ""),  # before and after a commit
        wait_seconds: float = 0.0,  # for another process, after the busy timeout, with a printed line
        stop: StopRequest | None = None,  # ends that wait
    ) -> None:
        self.path = path
        self.backup: Path | None = None  # of the older journal, where opening it has upgraded it
        before = read_identity(path)
        self.connection = connect(
            path,
            create=create,
            busy_timeout_seconds=busy_timeout_seconds,
            check_up_to=check_up_to,
            on_upgrade=self._keep_backup,
        )
        try:
            with translate_errors(path):
                self._files = OpenedFiles(path, self.connection, before)
        except BaseException:
            self.connection.close()
            raise
        self.allow_id = self._files.allow_id
        self.run = partial(run, self.connection)  # inside a transaction, which translates errors
        self._failpoints = failpoints
        self._busy_timeout_seconds = busy_timeout_seconds
        self.wait_seconds = wait_seconds
        self.stop = stop or StopRequest()
        self._broken: OstlerError | None = None
        self._is_closed = False
        self._is_durable = True  # as opened

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        with translate_errors(self.path):
            if not self._is_unchanged():
                # SQLite would write to the file that is at this path now, and delete its log.
                self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self.connection.close()

    def _is_unchanged(self) -> bool:
        try:
            self._files.require_unchanged()
        except (OstlerError, OSError, apsw.Error):  # what cannot be checked is not written
            return False
        return True

    def require_present(self) -> None:
        """Raise JOURNAL_LOST if the journal was deleted, moved, replaced or overwritten while open."""
        with translate_errors(self.path):
            self._files.require_unchanged()

    def query(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        with translate_errors(self.path), self._find_cause_of_damage():
            return run(self.connection, sql, *values)

    def run_each(self, sql: str, rows: Sequence[tuple[Value, ...]]) -> None:
        run_each(self.connection, sql, rows)

    def change(self, sql: str, *values: Value) -> int:
        self.run(sql, *values)
        return self.connection.changes()

    def version(self) -> int:
        return self.query("PRAGMA data_version")[0][0]

    @property
    def in_transaction(self) -> bool:
        return self.connection.in_transaction

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Generator[None]:
        """Commit everything that is written inside; roll back on an error.

        One that is not durable starts no flush: that of the next durable one includes it.
        """
        if self._broken is not None:
            raise self._broken
        before, after = self._failpoints
        with translate_errors(self.path, self._record_error):
            if durable != self._is_durable:
                self.run(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._is_durable = durable
            self._begin()
            try:
                with self._find_cause_of_damage():
                    yield
                    reach(before)
                    self.require_present()
                    self.run("COMMIT")
            except BaseException as error:
                if self.connection.in_transaction:
                    self.run("ROLLBACK")
                if isinstance(error, OstlerError) and error.code is Code.JOURNAL_LOST:
                    self._broken = error
                raise
            reach(after)

    @contextmanager
    def _find_cause_of_damage(self) -> Generator[None]:
        """Raise JOURNAL_LOST instead of an error of a page that was read from a file put over the journal."""
        try:
            yield
        except DAMAGE:
            self._files.require_unchanged()
            raise

    def _begin(self) -> None:
        if self.stop.is_set():
            self.connection.set_busy_timeout(_RETRY_MS)
        try:
            self.run("BEGIN IMMEDIATE")
        except apsw.BusyError:
            if not self.wait_seconds:
                raise
            self._wait()

    def _wait(self) -> None:
        """Begin the transaction when no other process holds the lock; raises StateError at the end."""
        self.connection.set_busy_timeout(_RETRY_MS)
        try:
            end = wait_while_busy(
                self._try_begin,
                lambda: f"waiting for the journal {self.path}: another process has locked it",
                wait_seconds=self.wait_seconds,
                waited_seconds=self._busy_timeout_seconds,
                stop=self.stop,
            )
        finally:
            self.connection.set_busy_timeout(int(self._busy_timeout_seconds * 1000))
        if end == "stopped":
            raise busy_error(self.path)
        if end == "late":
            raise JournalLocked(
                Code.STATE_BUSY,
                f"another process has locked the journal {self.path}"
                f" for more than {self.wait_seconds / 60:g} min",
                "end that process, then run again; the answers of agents are kept",
            )

    def _try_begin(self) -> bool:
        try:
            self.run("BEGIN IMMEDIATE")
        except apsw.BusyError:
            return False
        return True

    def _keep_backup(self, backup: Path) -> None:
        self.backup = backup

    def _record_error(self, error: OstlerError) -> None:
        # After a failed fsync the kernel may have dropped the pages: a later success would prove nothing.
        if error.code is Code.STORAGE_ERROR:
            self._broken = error
