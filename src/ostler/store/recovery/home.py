"""The directory that a journal belongs to: a copied project gets an id of its own."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import apsw

from ostler.files.layout import Layout
from ostler.store.identity import read_store_id
from ostler.store.sqlite import SqliteJournal

_COPIED = ("server.json",)  # they name processes of the original


def settle_home(journal: SqliteJournal, layout: Layout) -> bool:
    """Record the project's directory; return whether the journal is a copy and has a new id now.

    The id is part of the marker of agents: with the same id, a copy would stop the agents of the original.
    """
    recorded, here = journal.read_home(), os.fspath(layout.root.resolve())
    if recorded == here:
        return False
    copied = bool(recorded) and _is_original(Path(recorded), journal)
    if copied:
        for name in _COPIED:
            (layout.view / name).unlink(missing_ok=True)
    journal.set_home(here, os.urandom(8).hex() if copied else journal.store_id)
    return copied


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
