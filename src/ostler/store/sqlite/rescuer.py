"""Receives what a run cannot record because its journal is lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.recovery.rescue import copy_lost_journal


class Rescuer:
    """A copy of a lost journal, made when it is needed."""

    def __init__(self, lost: SqliteJournal, folders: Sequence[Path]) -> None:
        self._lost = lost
        self._folders = folders
        self._path: Path | None = None

    def open(self) -> SqliteJournal | None:
        """Copy the journal to one of the directories, once, and open the copy; None if that fails."""
        if self._folders:
            self._path = copy_lost_journal(self._lost.file.connection, self._lost.store_id, self._folders)
            self._folders = ()  # a copy that fails is not tried again
        return SqliteJournal(self._path) if self._path is not None else None
