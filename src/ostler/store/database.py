"""A connection to the project's SQLite file, for one thread."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from ostler.errors import Code, OstlerError
from ostler.files.failpoint import reach
from ostler.store.busy import RETRY_MS, StopRequest, wait_while_busy
from ostler.store.identity import read_identity
from ostler.store.opened_files import OpenedFiles
from ostler.store.opening import connect
from ostler.store.sqlite_errors import translate_errors
from ostler.store.statement import Value, run


class Database:
    """Runs SQL; its errors are OstlerErrors."""

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

    def close(self) -> None:
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
        with translate_errors(self.path):
            return run(self.connection, sql, *values)

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Commit everything that is written inside, durably; roll back on an error."""
        if self._broken is not None:
            raise self._broken
        before, after = self._failpoints
        with translate_errors(self.path, self._record_error):
            self._begin()
            try:
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

    def _begin(self) -> None:
        begin = partial(self.run, "BEGIN IMMEDIATE")
        if self.stop.is_set():
            self.connection.set_busy_timeout(RETRY_MS)
        try:
            begin()
        except apsw.BusyError:
            if not self.wait_seconds:
                raise
            timeout_seconds = self._busy_timeout_seconds
            wait_while_busy(self.connection, self.path, begin, timeout_seconds, self.wait_seconds, self.stop)

    def _keep_backup(self, backup: Path) -> None:
        self.backup = backup

    def _record_error(self, error: OstlerError) -> None:
        # After a failed fsync the kernel may have dropped the pages: a later success would prove nothing.
        if error.code is Code.STORAGE_ERROR:
            self._broken = error
