"""Copies the journal, also while a run writes to it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ostler.errors import UsageError
from ostler.files.atomic import make_private_dir
from ostler.files.disk import require_utf8
from ostler.project.project import Project
from ostler.project.stores import require_file
from ostler.store.sqlite.journal import SqliteJournal


def back_up_journal(project: Project, named: Path | None) -> Path:
    """Copy the journal to a new file, or into a directory; return the path of the copy."""
    file = require_file(project.store)
    target = _choose_target(project, named)
    require_utf8(target)
    if os.path.lexists(target):
        raise UsageError(f"{target} exists already", "name a file that does not exist")
    if not target.parent.is_dir():
        raise UsageError(f"no directory {target.parent}", "create it, or name another path")
    with SqliteJournal(file) as journal:
        journal.copy_to(target)
    return target


def _choose_target(project: Project, named: Path | None) -> Path:
    name = f"journal-{time.strftime('%Y%m%d-%H%M%S')}.db"
    if named is None:
        folder = project.layout.state / "backups"
        make_private_dir(folder)
        return folder / name
    return named / name if named.is_dir() else named
