"""Replaces the journal by a new file at once; the old one is kept beside it."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.files.failpoint import reach
from ostler.files.layout import Layout
from ostler.store.sqlite.recovery.backup import sync_folder
from ostler.store.sqlite.recovery.move import in_use_error
from ostler.store.sqlite.recovery.rescue import name_replaced

_LOGS = ("-wal", "-shm")  # a log that is left would be applied to the new file
_BESIDE = ("", *_LOGS)


def install_journal(part: Path, layout: Layout, *, sound: bool) -> str:
    """Put the new journal in its place; return the path of the old one, empty if there was none."""
    journal, aside = layout.database, _find_free(layout.database)
    if sound and _has_log(journal):
        # Closed journals have no log: without it, a process that is killed here would leave an older state.
        raise in_use_error(journal, "rebuilt")
    for end in _BESIDE:
        if _exists(journal, end):
            _keep(Path(f"{journal}{end}"), Path(f"{aside}{end}"))
    reach("rebuild.kept")
    for end in _LOGS:
        Path(f"{journal}{end}").unlink(missing_ok=True)
    part.replace(journal)
    sync_folder(layout.state)
    return str(aside) if aside.exists() else ""  # a deleted journal leaves only its log


def remove_journal(path: Path) -> None:
    """Remove a journal that was not installed, with its log."""
    for end in _BESIDE:
        Path(f"{path}{end}").unlink(missing_ok=True)


def _keep(file: Path, aside: Path) -> None:
    """Give the file a second name, so that there is a journal until the new one replaces it."""
    try:
        os.link(file, aside, follow_symlinks=False)
    except OSError:  # some file systems have no links
        file.rename(aside)


def _has_log(journal: Path) -> bool:
    log = Path(f"{journal}-wal")
    return log.is_file() and log.stat().st_size > 0


def _exists(path: Path, end: str) -> bool:
    return os.path.lexists(f"{path}{end}")


def _find_free(path: Path) -> Path:
    names = (name_replaced(path, number) for number in range(1000))
    return next(name for name in names if not any(_exists(name, end) for end in _BESIDE))
