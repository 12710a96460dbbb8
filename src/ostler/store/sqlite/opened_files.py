"""The files of an open journal: other files, or other content in them, are noticed before each commit.

A commit costs three calls of stat. Only if the database file was written, which a checkpoint does after about
a thousand pages, its content is checked: the header, and through a connection of its own the id, the last
position and, in a small file, all pages.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw

from ostler.store.sqlite.errors import DAMAGE
from ostler.store.sqlite.identity import (
    FileIdentity,
    explain_missing,
    identity_of,
    lost_error,
    read_identity,
    read_store_id,
    stat_file,
)
from ostler.store.sqlite.statement import run

CHECK_PAGES_UP_TO = 4 << 20  # bytes; 1 ms per MB
_BESIDE = ("-wal", "-shm")  # they exist, and stay the same files, while the journal is open
_HEADER_BYTES = 100
_MAGIC = b"SQLite format 3\0"


class _Stamp(NamedTuple):
    """Another value means that the database file was written."""

    size: int
    modified_ns: int
    changed_ns: int


class _Header(NamedTuple):
    """What the database file contains, except for what is only in the log."""

    schema: int  # random in a copy that Ostler made; constant while a journal is open
    pages: int  # never fewer, because no page is removed


class OpenedFiles:
    """The files behind a connection, as they were when it was opened."""

    def __init__(self, path: Path, db: apsw.Connection, before: FileIdentity | None) -> None:
        self._path = path
        found = path.stat()
        self._stamp = _stamp_of(found)
        # The file that existed before is the one that was opened, unless it was replaced at this moment.
        self._identity = before or identity_of(found)
        beside = (path.with_name(path.name + end) for end in _BESIDE)
        self._beside = {file: read_identity(file) for file in beside}
        self._header = _read_header(path)
        self._ids = {read_store_id(db)}
        self._position = _read_position(db)

    def allow_id(self, store_id: str) -> None:
        """Accept an id that this process writes to the journal."""
        self._ids.add(store_id)

    def require_unchanged(self) -> None:
        """Raise JOURNAL_LOST if the journal was deleted, moved, replaced or overwritten; or OSError."""
        found = stat_file(self._path)
        if found is None:
            raise explain_missing(self._path)
        if identity_of(found) != self._identity:
            raise lost_error(f"the journal {self._path} was replaced by another file while it was open")
        self._require_beside()
        if (stamp := _stamp_of(found)) != self._stamp and self._check_content():
            self._stamp = stamp

    def _require_beside(self) -> None:
        for file, opened in self._beside.items():
            present = read_identity(file)
            if present == opened:
                continue
            if opened is not None:
                how = "replaced" if present else "deleted or moved away"
                raise lost_error(f"the file {file} of the journal was {how} while it was open")
            self._beside[file] = present

    def _check_content(self) -> bool:
        """Raise JOURNAL_LOST if this is not the content that was opened; False if it cannot be read now."""
        header = _read_header(self._path)
        if header is None or self._header is None:
            raise self._overwritten_error()
        if header.schema != self._header.schema or header.pages < self._header.pages:
            raise self._overwritten_error()
        try:
            with closing(_open(self._path)) as db:
                store_id, position, is_sound = (
                    read_store_id(db),
                    _read_position(db),
                    _is_sound(db, self._path),
                )
        except (apsw.BusyError, apsw.LockedError):
            return False
        except DAMAGE as error:
            raise self._overwritten_error() from error
        if store_id not in self._ids or position < self._position or not is_sound:
            raise self._overwritten_error()
        self._header, self._position = header, position
        return True

    def _overwritten_error(self) -> Exception:
        return lost_error(f"the journal {self._path} was overwritten while it was open")


def _open(path: Path) -> apsw.Connection:
    """Return a connection without cached pages; the others keep theirs when a file is overwritten."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    return db


def _read_position(db: apsw.Connection) -> int:
    """Return the last position; without reading a page of the feed, which can be damaged."""
    found = run(db, "SELECT seq FROM sqlite_sequence WHERE name = 'feed'")
    return int(found[0][0]) if found else 0


def _is_sound(db: apsw.Connection, path: Path) -> bool:
    return path.stat().st_size > CHECK_PAGES_UP_TO or run(db, "PRAGMA quick_check(1)") == [("ok",)]


def _read_header(path: Path) -> _Header | None:
    with path.open("rb", buffering=0) as file:
        header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        return None
    return _Header(int.from_bytes(header[40:44], "big"), int.from_bytes(header[28:32], "big"))


def _stamp_of(found: os.stat_result) -> _Stamp:
    return _Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns)
