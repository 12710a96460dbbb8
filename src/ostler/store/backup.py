"""Copies the journal before an upgrade changes it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import apsw

from ostler.files.atomic import sync_directory, sync_file
from ostler.files.failpoint import reach

_PRIVATE = 0o600
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def backup_path(path: Path, version: int) -> Path:
    return path.with_name(f"{path.name}.v{version}.bak")


def make_backup(db: apsw.Connection, path: Path, version: int) -> Path:
    """Copy the database to a file next to it, durably, and return its path.

    Replaces the backup of an interrupted upgrade, since the journal may have changed after it.
    """
    target = backup_path(path, version)
    # `remove_temporary_files` deletes files with such a name after their process has ended.
    temporary = target.with_name(f".{os.getpid()}-{os.urandom(8).hex()}.tmp")
    try:
        os.close(os.open(temporary, _CREATE, _PRIVATE))
        temporary.chmod(_PRIVATE)
        _copy(db, temporary)
        reach("store.backup")
        temporary.replace(target)
        _sync_directory(target.parent)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    reach("store.backed_up")
    return target


def _copy(db: apsw.Connection, temporary: Path) -> None:
    copy = apsw.Connection(str(temporary), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        with copy.backup("main", db, "main") as backup:
            while not backup.done:
                backup.step(1000)
    finally:
        copy.close()
    with temporary.open("rb") as file:
        sync_file(file.fileno())


def _sync_directory(directory: Path) -> None:
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync_directory(opened)
    finally:
        os.close(opened)
