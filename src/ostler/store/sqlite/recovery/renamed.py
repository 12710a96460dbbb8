"""Moves the state of a project whose directory was renamed, or which got a git directory of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ostler.errors import OstlerError
from ostler.files.atomic import make_private_dir
from ostler.files.disk import to_disk_error
from ostler.files.layout import JOURNAL, Layout
from ostler.files.lock import is_locked
from ostler.files.state_folder import has_lost_git_dir, is_shared_place
from ostler.files.view import find_shown_state, link_tasks
from ostler.store.sqlite.identity import gone_error
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.recovery.move import in_use_error

_LOCKS = ("locks", "runs")  # of ended processes


def adopt_renamed_state(layout: Layout) -> Path | None:
    """Rename the state that .ostler/tasks leads to, if its project has no other directory; return where.

    Raises JOURNAL_LOST if it cannot be the state of this directory: another journal would hide its tasks.
    """
    old = find_shown_state(layout)
    if old is None or old == layout.state or not (old / JOURNAL).is_file() or not _is_left(old, layout):
        return None
    if layout.state == layout.view or has_lost_git_dir(layout.root) or is_shared_place(old):
        raise gone_error(old)
    if any(is_locked(file) for name in _LOCKS for file in (old / name).glob("*")):
        raise in_use_error(old / JOURNAL, "renamed")
    try:
        make_private_dir(layout.state.parent)
        _make_room(old, layout.state)
        old.rename(layout.state)
    except OSError as error:
        raise to_disk_error(layout.state, error) from error
    link_tasks(layout)
    return old


def _make_room(old: Path, new: Path) -> None:
    """Remove a directory without a journal; what it contains is added to the old one, which replaces it."""
    if not new.is_dir():
        return
    for name in _LOCKS:
        shutil.rmtree(new / name, ignore_errors=True)
    for entry in new.iterdir():
        if os.path.lexists(old / entry.name):
            entry.rmdir()  # raises if it is not empty: nothing is deleted
        else:
            entry.rename(old / entry.name)
    new.rmdir()


def _is_left(old: Path, layout: Layout) -> bool:
    """Return whether the directory that the journal records is gone, or is this one."""
    try:
        with SqliteJournal(old / JOURNAL) as journal:
            home = journal.read_home().directory
    except OstlerError:
        return False
    return home == os.fspath(layout.root.resolve()) or not os.path.lexists(home)
