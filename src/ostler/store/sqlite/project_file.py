"""Opens the journal of a project: moves it into the git directory, and refuses a lost one."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.files.disk import require_utf8
from ostler.files.layout import JOURNAL, Layout
from ostler.files.view import create_folders, find_gone_state, has_task_files
from ostler.store.sql_journal import OpenedJournal
from ostler.store.sqlite.identity import find_home, gone_error, missing_error, require_not_copied
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.store import SqliteStore


class ProjectFile(SqliteStore):
    """The store of a project in the file of its state directory."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout.database, layout.rescues)
        self._layout = layout

    def open_project(self, *, create: bool) -> OpenedJournal:
        return _open(self._layout, create=create)


def _open(layout: Layout, *, create: bool) -> OpenedJournal:
    """Open the journal, or create it; raises JOURNAL_LOST if there are files of tasks without a journal."""
    require_utf8(layout.database)
    moved = _move_old(layout)
    renamed = None
    if not os.path.lexists(layout.database):
        renamed = adopt_renamed(layout)
    if not os.path.lexists(layout.database):
        from ostler.store.sqlite.recovery.rescue import list_rescues  # noqa: PLC0415  (rarely needed)

        gone = find_gone_state(layout)
        if gone is not None and not list_rescues(*layout.rescues):
            raise gone_error(gone)
        require_not_copied(layout.database)
        if _is_lost(layout):
            raise missing_error(layout.database)
    if create:
        create_folders(layout)
    journal = SqliteJournal(layout.database, create=create)
    notes: list[str] = []
    if moved is not None:
        notes.append(f"moved the journal to {layout.database}; the old file is kept as {moved}")
    if renamed is not None:
        notes.append(f"renamed the state {renamed} to {layout.state}, the place for this directory")
    if journal.backup is not None:
        notes.append(f"upgraded the journal to this version of Ostler; backup: {journal.backup}")
    if _settle_home(journal, layout, moved=moved is not None):
        notes.append("this project is a copy of another one, or its journal was replaced; it has a new id")
    return OpenedJournal(journal, tuple(notes))


def _settle_home(journal: SqliteJournal, layout: Layout, *, moved: bool) -> bool:
    """Record where the journal is, if it has changed; return whether it is a copy."""
    if journal.read_home() == find_home(layout.root, journal.path):
        return False
    from ostler.store.sqlite.recovery.home import settle_home  # noqa: PLC0415  (rarely needed)

    return settle_home(journal, layout, moved=moved)


def _move_old(layout: Layout) -> Path | None:
    """Move a journal that an older version left in .ostler; return where it is kept."""
    old = layout.view / JOURNAL
    if old == layout.database or not os.path.lexists(old):
        return None
    from ostler.store.sqlite.recovery.move import move_state  # noqa: PLC0415  (needed once per project)

    return move_state(layout)


def adopt_renamed(layout: Layout) -> Path | None:
    """Rename the state of a project whose directory was renamed; return its old path."""
    from ostler.store.sqlite.recovery.renamed import adopt_renamed_state  # noqa: PLC0415  (rarely needed)

    return adopt_renamed_state(layout)


def _is_lost(layout: Layout) -> bool:
    """Return whether files show that the missing journal existed."""
    from ostler.store.sqlite.recovery.rescue import list_replaced, list_rescues  # noqa: PLC0415

    return has_task_files(layout) or bool(list_rescues(*layout.rescues) or list_replaced(layout.database))
