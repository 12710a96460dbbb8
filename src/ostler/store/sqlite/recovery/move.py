"""Moves the state of a project from .ostler into its git directory; a killed move is completed later.

The new journal is complete before it gets its name, and the old one is renamed last: until then, the next
start repeats what is left.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from ostler.errors import Code, StateError
from ostler.files.atomic import make_private_dir, remove_temporary_files, sync_file
from ostler.files.failpoint import reach
from ostler.files.layout import JOURNAL, Layout
from ostler.files.lock import LockHandle, is_locked, try_lock
from ostler.files.view import create_folders
from ostler.store.sqlite.errors import corrupt_error, translate_errors
from ostler.store.sqlite.identity import read_store_id
from ostler.store.sqlite.opening import require_headers
from ostler.store.sqlite.recovery.backup import copy_database, sync_folder
from ostler.store.sqlite.schema import is_ours
from ostler.store.sqlite.statement import run

_FOLDERS = ("tasks", "sessions", "untold")
_DISCARDED = ("locks", "runs")  # of ended processes
_LOCK = "ostler.db.move"
_LOCK_SECONDS = 60.0
_BUSY_SECONDS = 1.0
_PAUSE_SECONDS = 0.02
_ALONE = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE"


def move_state(layout: Layout) -> Path | None:
    """Move the state into the git directory; return the kept old journal, or None if nothing is to move."""
    old, new = layout.view / JOURNAL, layout.database
    if old == new or not os.path.lexists(old):
        return None
    make_private_dir(layout.state)
    with lock_place(layout.state, "moved"), translate_errors(old):
        if not os.path.lexists(old):  # another process was faster
            return None
        _require_idle(layout.view, old)
        remove_temporary_files(layout.state)  # of a killed move
        with _open_alone(old) as db:
            if os.path.lexists(new):
                _require_same(db, old, new)
            else:
                reach("move.start")
                copy_database(db, new, _check_copy)
            reach("move.copied")
            _move_folders(layout)
            reach("move.folders")
        return _keep(old)


def lock_place(state: Path, what: str) -> LockHandle:
    """Wait until no other process moves or rebuilds the journal of this directory, and lock it."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while (held := try_lock(state / _LOCK)) is None:
        if time.monotonic() > deadline:
            raise in_use_error(state / JOURNAL, what)
        time.sleep(_PAUSE_SECONDS)
    return held


def _require_idle(view: Path, old: Path) -> None:
    files = (file for name in _DISCARDED for file in (view / name).glob("*"))
    if any(file.is_file() and is_locked(file) for file in files):
        raise in_use_error(old, "moved into the git directory")


def in_use_error(path: Path, what: str) -> StateError:
    return StateError(
        Code.JOURNAL_IN_USE,
        f"the journal {path} cannot be {what} while another process uses it",
        "stop it (ostler run, worker, serve or watch) and try again; nothing was changed",
    )


@contextmanager
def _open_alone(old: Path) -> Generator[apsw.Connection]:
    """Open the old journal for this process only; its log is written into the file first."""
    require_headers(old)
    with closing(apsw.Connection(str(old), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        db.set_busy_timeout(int(_BUSY_SECONDS * 1000))
        if not is_ours(db):
            raise corrupt_error(old, "it is the database of another program")
        try:
            run(db, _ALONE)
            version = run(db, "PRAGMA user_version")[0][0]
            run(db, f"PRAGMA user_version = {version}")  # a write takes the lock, which is kept
        except apsw.BusyError as error:
            raise in_use_error(old, "moved into the git directory") from error
        yield db


def _check_copy(copy: Path) -> None:
    """Refuse a damaged copy, and make it a journal with a write-ahead log."""
    with closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        verdict = run(db, "PRAGMA integrity_check(1)")
        if verdict != [("ok",)]:
            raise corrupt_error(copy, str(verdict[0][0]).replace("\n", ", "))
        run(db, "PRAGMA journal_mode = WAL")
    with copy.open("rb") as file:
        sync_file(file.fileno())


def _require_same(db: apsw.Connection, old: Path, new: Path) -> None:
    """Raise unless the new journal was copied from the old one, which has not changed since."""
    with closing(apsw.Connection(str(new), flags=apsw.SQLITE_OPEN_READWRITE)) as moved:
        same = read_store_id(db) == read_store_id(moved) and _last(db) <= _last(moved)
    if not same:
        raise StateError(
            Code.STATE_CORRUPT,
            f"there are two journals of this project: {old} and {new}",
            "move the one that you do not need to another place",
        )


def _last(db: apsw.Connection) -> int:
    return run(db, "SELECT coalesce(max(position), 0) FROM feed")[0][0]


def _move_folders(layout: Layout) -> None:
    for name in _FOLDERS:
        source = layout.view / name
        if source.is_dir() and not source.is_symlink():
            _move_folder(source, layout.state / name)
            reach("move.folder")
    for name in _DISCARDED:
        shutil.rmtree(layout.view / name, ignore_errors=True)
    (layout.view / f"{JOURNAL}.upgrade").unlink(missing_ok=True)
    create_folders(layout)
    sync_folder(layout.state)


def _move_folder(source: Path, target: Path) -> None:
    """Move a directory; entries that an interrupted move left are added to those that it moved."""
    if not target.exists():
        _rename(source, target)
        return
    for entry in source.iterdir():
        if not os.path.lexists(target / entry.name):
            _rename(entry, target / entry.name)
    if not any(source.iterdir()):
        source.rmdir()
    else:
        source.rename(source.with_name(f"{source.name}.bak"))  # both have it; nothing is deleted


def _rename(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy_to_other_disk(source, target)


def _copy_to_other_disk(source: Path, target: Path) -> None:
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, part, symlinks=True)
        part.rename(target)
        shutil.rmtree(source)
    else:
        part.unlink(missing_ok=True)
        shutil.copy2(source, part, follow_symlinks=False)
        part.rename(target)
        source.unlink()


def _keep(old: Path) -> Path:
    names = (old.with_name(f"{old.name}.bak{number or ''}") for number in range(1000))
    kept = next(path for path in names if not os.path.lexists(path))
    old.rename(kept)
    sync_folder(old.parent)
    reach("move.kept")
    return kept
