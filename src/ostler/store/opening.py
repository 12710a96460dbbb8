"""Opening the database file: made whole, or found whole, or refused and left as it is."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

import apsw

from ostler.errors import Code, OstlerError, StateError, UsageError
from ostler.files.atomic import create_once, make_private_dir
from ostler.store.refusal import corrupt, explained, unusable
from ostler.store.schema import empty_store, is_ours, migrate, newest_version, version_of
from ostler.store.statement import run

_DB_MAGIC = b"SQLite format 3\0"
_DB_HEADER = 100
_WAL_HEADER = 32
_WAL_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}  # and the byte order of its checksums
_SETTINGS = "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON"


def connect(path: Path, *, create: bool, busy_timeout_seconds: float, check_up_to: int) -> apsw.Connection:
    """A connection to a journal of our version, after a look at the file that is cheap.

    The headers and the schema are read every time; all pages only in a file of up to `check_up_to` bytes
    (1 ms for each MB). Damage that lies elsewhere is refused when it is met.
    """
    with explained(path):
        _require_file(path, create=create)
        _require_headers(path)
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.set_busy_timeout(int(busy_timeout_seconds * 1000))
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # what is refused stays byte for byte
            run(db, _SETTINGS)
            _require_version(db, path)
            _require_sound(db, path, check_up_to)
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        except BaseException:
            db.close()
            raise
    return db


def _require_file(path: Path, *, create: bool) -> None:
    if os.path.lexists(path):
        return
    if not create:
        raise UsageError(f"no Ostler project here: {path} does not exist", "ostler init")
    try:
        make_private_dir(path.parent)
        create_once(path, empty_store())
    except OstlerError as error:
        if error.code is Code.WORKSPACE_WRITE_FAILED:
            raise unusable(path, error.message) from error
        raise


def _require_headers(path: Path) -> None:
    # SQLite takes an empty file for a new database, and a spoiled log for an empty one: work would be lost.
    header = _head(path, _DB_HEADER)
    if len(header) < _DB_HEADER or not header.startswith(_DB_MAGIC):
        raise corrupt(path, "its header is not that of a database")
    wal = path.with_name(path.name + "-wal")
    for pause in (0.01, 0.05, None):  # its owner may be writing the header at this moment
        if not wal.exists() or _is_log(_head(wal, _WAL_HEADER + 1)):
            return
        if pause is not None:
            time.sleep(pause)
    raise corrupt(path, f"the header of {wal.name} is spoiled")


def _head(path: Path, size: int) -> bytes:
    try:
        # Not to hang on a pipe that lies in its place.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", 0) as file:
            return file.read(size) or b""
    except FileNotFoundError:  # the last user of the log has just removed it
        return b""


def _is_log(head: bytes) -> bool:
    """Whether a log starts as SQLite writes it; one that ends within its header was never used."""
    if len(head) <= _WAL_HEADER:
        return True
    order = _WAL_MAGIC.get(int.from_bytes(head[:4], "big"))
    if order is None:
        return False
    first = second = 0
    words = struct.unpack(f"{order}6I", head[:24])
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return struct.unpack(">2I", head[24:32]) == (first, second)


def _require_version(db: apsw.Connection, path: Path) -> None:
    if not is_ours(db):
        raise corrupt(path, "it is the database of another program")
    found, newest = version_of(db), newest_version()
    if found > newest:
        raise StateError(
            Code.STATE_VERSION,
            f"the journal {path} has version {found}; this Ostler knows up to {newest}",
            "upgrade Ostler",
        )
    if found < newest:
        migrate(db)


def _require_sound(db: apsw.Connection, path: Path, check_up_to: int) -> None:
    if path.stat().st_size > check_up_to:
        return
    verdict = run(db, "PRAGMA quick_check(1)")
    if verdict != [("ok",)]:
        raise corrupt(path, str(verdict[0][0]).replace("\n", ", "))
