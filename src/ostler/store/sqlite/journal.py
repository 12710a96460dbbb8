"""The journal in the project's SQLite file, and what concerns that file."""

from __future__ import annotations

from pathlib import Path

from ostler.store.busy import StopRequest
from ostler.store.sql_journal import SqlJournal
from ostler.store.sqlite.database import SqliteDatabase
from ostler.store.sqlite.errors import translate_errors
from ostler.store.sqlite.identity import Home

CHECK_UP_TO = 1 << 20  # bytes

_SELECT_HOME = "SELECT home, file FROM identity"
_UPDATE_IDENTITY = "UPDATE identity SET home = $1, file = $2, store_id = $3 WHERE home = $4 AND file = $5"


class SqliteJournal(SqlJournal):
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
        self.file = SqliteDatabase(
            path,
            create=create,
            busy_timeout_seconds=busy_timeout_seconds,
            check_up_to=check_up_to,
            failpoints=("journal.append", "journal.appended"),
            wait_seconds=wait_seconds,
            stop=stop,
        )
        self.backup = self.file.backup
        super().__init__(self.file)

    def read_home(self) -> Home:
        """Return the directory and the file that the journal belongs to."""
        return Home(*self.file.query(_SELECT_HOME)[0])

    def set_home(self, before: Home, home: Home, store_id: str) -> None:
        """Record where the journal is, and its id, unless another process was faster."""
        self.file.allow_id(store_id)
        with self.transaction():
            self.file.run(_UPDATE_IDENTITY, *home, store_id, *before)
        self.store_id = self._read_store_id()

    def copy_to(self, target: Path) -> None:
        """Copy the journal to this file, also while other processes write."""
        from ostler.store.sqlite.recovery.backup import copy_database  # noqa: PLC0415  (rarely needed)

        with translate_errors(target):
            copy_database(self.file.connection, target)

    def find_damage(self) -> list[str]:
        """Check all pages and indexes; return what is damaged."""
        found = [str(row[0]).replace("\n", ", ") for row in self.file.query("PRAGMA integrity_check(10)")]
        return [] if found == ["ok"] else found
