"""Copies the journal with SQLite's backup API, also while other processes write."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw

from ostler.files.atomic import sync_directory, sync_file
from ostler.files.failpoint import reach
from ostler.store.sqlite.statement import run

_PRIVATE = 0o600
_BESIDE = ("-wal", "-shm", "-journal")  # files that SQLite keeps beside a database
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def backup_path(path: Path, version: int) -> Path:
    return path.with_name(f"{path.name}.v{version}.bak")


def make_backup(db: apsw.Connection, path: Path, version: int) -> Path:
    """Copy the database to a file next to it, durably, and return its path.

    Replaces the backup of an interrupted upgrade, since the journal may have changed after it.
    """
    target = backup_path(path, version)
    copy_database(db, target)
    reach("store.backed_up")
    return target


def copy_database(db: apsw.Connection, target: Path, accept: Callable[[Path], None] = lambda _: None) -> None:
    """Copy the database to this file, durably and at once; `accept` can refuse the complete copy."""
    # `remove_temporary_files` deletes files with such a name after their process has ended.
    temporary = target.with_name(f".{os.getpid()}-{os.urandom(8).hex()}.tmp")
    try:
        os.close(os.open(temporary, _CREATE, _PRIVATE))
        temporary.chmod(_PRIVATE)
        _copy(db, temporary)
        accept(temporary)
        reach("store.backup")
        temporary.replace(target)
        sync_folder(target.parent)
    except BaseException:
        for leftover in (temporary, *(temporary.with_name(f"{temporary.name}{end}") for end in _BESIDE)):
            with suppress(FileNotFoundError):
                leftover.unlink()
        raise


def _copy(db: apsw.Connection, temporary: Path) -> None:
    copy = apsw.Connection(str(temporary), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        with copy.backup("main", db, "main") as backup:
            while not backup.done:
                backup.step(1000)
        # A copy that is put over an open journal has another number than the journal.
        run(copy, f"PRAGMA schema_version = {int.from_bytes(os.urandom(3), 'big') + 1}")
    finally:
        copy.close()
    with temporary.open("rb") as file:
        sync_file(file.fileno())


def sync_folder(directory: Path) -> None:
    """Flush the entries of a directory."""
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync_directory(opened)
    finally:
        os.close(opened)
