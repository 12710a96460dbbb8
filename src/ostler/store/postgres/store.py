"""The store of a project in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from ostler.errors import OstlerError, UsageError
from ostler.files.layout import Layout
from ostler.files.view import create_folders
from ostler.store.busy import RUN_WAIT_SECONDS, StopRequest
from ostler.store.database import Database
from ostler.store.postgres.address import Address, parse_address
from ostler.store.postgres.database import PostgresDatabase
from ostler.store.postgres.errors import ProjectMissing
from ostler.store.postgres.listener import Listener
from ostler.store.postgres.turn import PostgresTurn
from ostler.store.repeat import repeat
from ostler.store.sql_journal import SqlJournal
from ostler.store.sql_parts import SqlParts

if TYPE_CHECKING:
    from ostler.config.cluster import StoreSettings
    from ostler.store.sql_journal import OpenedJournal
    from ostler.store.writer import GroupWriter

# Most commands need only the journal, so the other parts are imported when they are opened.
# ruff: noqa: PLC0415

_JOURNAL_FAILPOINTS = ("journal.append", "journal.appended")


def open_postgres(settings: StoreSettings, layout: Layout) -> PostgresStore:
    """Return the store of the project that the settings name."""
    return PostgresStore(parse_address(settings.url, settings.schema), layout)


class PostgresStore(SqlParts):
    """A Store that all machines of a project can open at the same time."""

    file: None = None

    def __init__(
        self, address: Address, layout: Layout | None = None, *, busy_timeout_seconds: float = 5.0
    ) -> None:
        self.address = address
        self._layout = layout
        super().__init__(partial(PostgresDatabase, address, busy_timeout_seconds=busy_timeout_seconds))

    @property
    def name(self) -> str:
        return f"{self.address}, schema {self.address.schema}"

    def exists(self) -> bool:
        try:
            self._open().close()
        except ProjectMissing:
            return False
        return True

    def open_project(self, *, create: bool) -> OpenedJournal:
        from ostler.store.sql_journal import OpenedJournal

        exists = not create or self.exists()
        if not exists:
            self._require_no_file()
        journal = self.open_journal(create=create)
        if self._layout is not None:
            create_folders(self._layout)  # of this machine
        return OpenedJournal(journal, () if exists else (f"created the project in {self.name}",))

    def _require_no_file(self) -> None:
        """Raise UsageError if the tasks of this project are still in its file."""
        file = self._layout.database if self._layout is not None else None
        if file is not None and file.exists():
            raise UsageError(
                f"the tasks of this project are in {file}, and not yet in {self.name}",
                "ostler store copy   brings them there",
            )

    def require_complete(self) -> None:
        """A run waits for the server until its last record is written, so nothing is kept elsewhere."""

    def find_loss(self) -> OstlerError | None:
        return None

    def settle_machine(self, machine: str, *, take_over: bool = False) -> str:
        with closing(self._open(wait_seconds=RUN_WAIT_SECONDS)) as db:
            return repeat(db, lambda: _settle_machine(db, machine, take_over=take_over))

    def open_journal(
        self, *, create: bool = False, wait_seconds: float = 0.0, stop: StopRequest | None = None
    ) -> SqlJournal:
        open_database = partial(self._open, create=create, wait_seconds=wait_seconds, stop=stop)
        return SqlJournal(open_database(failpoints=_JOURNAL_FAILPOINTS))

    def open_writer(
        self,
        *,
        create: bool = False,
        wait_seconds: float = RUN_WAIT_SECONDS,
        stop: StopRequest | None = None,
    ) -> GroupWriter:
        from ostler.store.writer import GroupWriter

        return GroupWriter(self.open_journal(create=create, wait_seconds=wait_seconds, stop=stop))

    def turn(self, name: str) -> PostgresTurn:
        return PostgresTurn(self.address, name)

    def listen(self, wake: Callable[[], None]) -> Listener:
        """Call `wake` from another thread when another process writes; it may miss some writes."""
        return Listener(self.address, wake)


def _settle_machine(db: Database, machine: str, *, take_over: bool) -> str:
    if (known := _read_machine(db)) == machine:
        return machine
    with db.transaction():
        known = _read_machine(db)  # another process may have been faster
        if known not in ("", machine) and not take_over:
            raise UsageError(
                f"the tasks of this project run on {known}, not on {machine}",
                "ostler store take-over   runs them here from now on;"
                ' several machines at once need engine.kind = "temporal"',
            )
        db.run("UPDATE identity SET machine = $1", machine)
    return known


def _read_machine(db: Database) -> str:
    return str(db.query("SELECT machine FROM identity")[0][0])
