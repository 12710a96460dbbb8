"""Renames the state of a project in a subdirectory after that directory was renamed."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.errors import OstlerError
from ostler.files.atomic import make_private_dir
from ostler.files.disk import to_disk_error
from ostler.files.layout import JOURNAL, Layout
from ostler.files.lock import is_locked
from ostler.files.view import find_shown_state, link_tasks
from ostler.store.recovery.move import in_use_error
from ostler.store.sqlite import SqliteJournal


def adopt_renamed_state(layout: Layout) -> Path | None:
    """Rename the state that .ostler/tasks leads to, if its project has no other directory; return where."""
    old = find_shown_state(layout)
    if old is None or not _belongs_here(old, layout) or not _is_left(old, layout):
        return None
    if any(is_locked(file) for name in ("locks", "runs") for file in (old / name).glob("*")):
        raise in_use_error(old / JOURNAL, "renamed")
    try:
        make_private_dir(layout.state.parent)
        old.rename(layout.state)
    except OSError as error:
        raise to_disk_error(layout.state, error) from error
    link_tasks(layout)
    return old


def _belongs_here(old: Path, layout: Layout) -> bool:
    """Return whether it is the state of a subdirectory, or that of a linked work tree of an older version."""
    if layout.state in (old, layout.view) or not (old / JOURNAL).is_file():
        return False
    is_older = old.parts[-3:] == ("worktrees", layout.state.name, "ostler")
    return old.parent == layout.state.parent or is_older


def _is_left(old: Path, layout: Layout) -> bool:
    """Return whether the directory that the journal records is gone, or is this one."""
    try:
        with SqliteJournal(old / JOURNAL) as journal:
            home = journal.read_home()
    except OstlerError:
        return False
    return home == os.fspath(layout.root.resolve()) or not os.path.lexists(home)
