"""The store of a project in one SQLite file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ostler.errors import OstlerError
from ostler.store.busy import RUN_WAIT_SECONDS, StopRequest
from ostler.store.sql_journal import OpenedJournal
from ostler.store.sql_parts import SqlParts
from ostler.store.sqlite.database import SqliteDatabase
from ostler.store.sqlite.journal import SqliteJournal

if TYPE_CHECKING:
    from ostler.store.sqlite.listener import FileListener
    from ostler.store.sqlite.turn import FileTurn
    from ostler.store.writer import GroupWriter

# Most commands need only the journal, so the other parts are imported when they are opened.
# ruff: noqa: PLC0415

_WRITER_CHECKS_UP_TO = 64 << 20  # bytes; all pages of such a file are checked when a run starts


class SqliteStore(SqlParts):
    """A Store that all processes of a project can open at the same time."""

    def __init__(
        self,
        path: Path,
        rescue_in: Sequence[Path] = (),  # one receives what cannot be recorded: the journal is lost
        *,
        busy_timeout_seconds: float = 5.0,
    ) -> None:
        self.file = path
        self._rescue_in = rescue_in
        self._busy_timeout_seconds = busy_timeout_seconds
        super().__init__(partial(SqliteDatabase, path, busy_timeout_seconds=busy_timeout_seconds))

    @property
    def name(self) -> str:
        return str(self.file)

    def exists(self) -> bool:
        return os.path.lexists(self.file)

    def open_project(self, *, create: bool) -> OpenedJournal:
        return OpenedJournal(self.open_journal(create=create))

    def require_complete(self) -> None:
        from ostler.store.sqlite.recovery.rescue import require_no_rescue

        require_no_rescue(*self._rescue_in)

    def find_loss(self) -> OstlerError | None:
        from ostler.store.sqlite.identity import explain_missing

        return None if self.file.parent.is_dir() else explain_missing(self.file)

    def settle_machine(self, machine: str, *, take_over: bool = False) -> str:
        return machine

    def open_journal(
        self, *, create: bool = False, wait_seconds: float = 0.0, stop: StopRequest | None = None
    ) -> SqliteJournal:
        return SqliteJournal(
            self.file,
            create=create,
            busy_timeout_seconds=self._busy_timeout_seconds,
            wait_seconds=wait_seconds,
            stop=stop,
        )

    def open_writer(
        self,
        *,
        create: bool = False,
        wait_seconds: float = RUN_WAIT_SECONDS,
        stop: StopRequest | None = None,
    ) -> GroupWriter:
        from ostler.store.sqlite.rescuer import Rescuer
        from ostler.store.writer import GroupWriter

        journal = SqliteJournal(
            self.file,
            create=create,
            busy_timeout_seconds=self._busy_timeout_seconds,
            check_up_to=_WRITER_CHECKS_UP_TO,
            wait_seconds=wait_seconds,
            stop=stop,
        )
        return GroupWriter(journal, rescue=Rescuer(journal, self._rescue_in).open)

    def turn(self, name: str) -> FileTurn:
        from ostler.store.sqlite.turn import FileTurn

        return FileTurn(self.file.parent / "locks" / name)

    def listen(self, wake: Callable[[], None]) -> FileListener:
        from ostler.store.sqlite.listener import FileListener

        return FileListener(self.file, wake)
