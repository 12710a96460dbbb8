"""Refuses a backup that belongs to another project."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.errors import OstlerError, UsageError
from ostler.files.layout import Layout
from ostler.store.sqlite.journal import SqliteJournal


def require_backup(backup: Path, layout: Layout, *, foreign: bool) -> None:
    """Raise UsageError unless the backup exists and belongs to this project, or `foreign` allows another."""
    if not backup.is_file():
        raise UsageError(f"no file {backup}", "name a backup: ostler journal backup makes one")
    if not foreign:
        _require_own(backup, layout)


def _require_own(backup: Path, layout: Layout) -> None:
    """Raise unless the id, the directory or a task of the backup is one of this project."""
    with SqliteJournal(backup) as journal:
        home, here = journal.read_home().directory, os.fspath(layout.root.resolve())
        if home == here or journal.store_id == _read_present_id(layout):
            return
        if any((layout.task(row.id) / "task.md").is_file() for row in journal.rows()):
            return
    raise UsageError(
        f"{backup} is the journal of another project ({home or 'its directory is not recorded'})",
        f"to use it all the same: ostler journal rebuild --from {backup} --other-project",
    )


def _read_present_id(layout: Layout) -> str:
    """Return the id of the journal; empty if it is lost or cannot be read."""
    try:
        with SqliteJournal(layout.database) as journal:
            return journal.store_id
    except OstlerError:
        return ""
