"""The directory and the file that a journal belongs to: a copied project gets an id of its own."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import apsw

from ostler.files.layout import Layout
from ostler.store.sqlite.identity import Home, find_home, read_store_id
from ostler.store.sqlite.journal import SqliteJournal

_COPIED = ("server.json",)  # they name processes of the original


def settle_home(journal: SqliteJournal, layout: Layout, *, moved: bool = False) -> bool:
    """Record where the journal is; return whether it is a copy and has a new id now.

    The id is part of the marker of agents: with the same id, a copy would stop the agents of the original.
    `moved`: this process has just copied the journal to its present file, and the old one is not used.
    """
    recorded, here = journal.read_home(), find_home(layout.root, journal.path)
    if recorded == here:
        return False
    copied = _is_copy(recorded, here, journal, moved=moved)
    if copied and recorded.directory != here.directory:
        for name in _COPIED:
            (layout.view / name).unlink(missing_ok=True)
    journal.set_home(recorded, here, os.urandom(8).hex() if copied else journal.store_id)
    return copied


def keep_id(journal: SqliteJournal, layout: Layout) -> None:
    """Let a copy that replaces the project's own journal keep its id; that of another project is a copy."""
    recorded, here = journal.read_home(), find_home(layout.root, journal.path)
    if recorded.directory in ("", here.directory):
        journal.set_home(recorded, here, journal.store_id)


def _is_copy(recorded: Home, here: Home, journal: SqliteJournal, *, moved: bool) -> bool:
    """Return whether the recorded file may still be used; it need not be in the recorded directory."""
    if not moved and recorded.file not in ("", here.file):
        return True
    return bool(recorded.directory) and _is_original(Path(recorded.directory), journal)


def _is_original(root: Path, journal: SqliteJournal) -> bool:
    """Return whether another file there is the journal with this id; also if that cannot be checked."""
    original = Layout(root).database
    try:
        if not original.exists() or original.samefile(journal.path):
            return False
        with closing(apsw.Connection(str(original), flags=apsw.SQLITE_OPEN_READONLY)) as db:
            return read_store_id(db) == journal.store_id
    except (OSError, apsw.Error):
        return True
