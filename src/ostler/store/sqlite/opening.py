"""Opens the database file: creates, checks or upgrades it; a damaged file is refused and not changed."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from ostler.errors import Code, OstlerError, StateError, UsageError
from ostler.files.atomic import create_exclusive, make_private_dir
from ostler.files.disk import require_utf8
from ostler.files.lock import LockHandle, is_locked, try_lock
from ostler.store.sqlite.errors import busy_error, corrupt_error, translate_errors, unusable_error
from ostler.store.sqlite.schema import empty_store, is_ours, migrate, newest_version, version_of
from ostler.store.sqlite.statement import run

_DB_MAGIC = b"SQLite format 3\0"
_DB_HEADER = 100
_WAL_HEADER = 32
_WAL_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}  # and the byte order of its checksums
_UPGRADE_SECONDS = 60.0  # longest wait for the upgrade by another process
_PAUSE_SECONDS = 0.02
_SETTINGS = "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON"


def connect(
    path: Path,
    *,
    create: bool,
    busy_timeout_seconds: float,
    check_up_to: int,
    on_upgrade: Callable[[Path], None] = lambda _: None,
) -> apsw.Connection:
    """Return a connection to a journal of the newest version, after a quick check of the file.

    The headers and the schema are always checked, all pages only in a file of up to `check_up_to` bytes
    (1 ms per MB). Other damage is reported when the page is read. A journal of an older version is upgraded
    first, and `on_upgrade` receives the path of its backup.
    """
    require_utf8(path)
    with translate_errors(path):
        _require_file(path, create=create)
        require_headers(path)
        _wait_for_upgrade(path)
        db = _open(path, busy_timeout_seconds)
        try:
            if _require_version(db, path) < newest_version():
                db.close()
                _upgrade(path, busy_timeout_seconds, on_upgrade)
                db = _open(path, busy_timeout_seconds)
            _require_sound(db, path, check_up_to)
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        except BaseException:
            db.close()
            raise
    return db


def _open(path: Path, busy_timeout_seconds: float) -> apsw.Connection:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.set_busy_timeout(int(busy_timeout_seconds * 1000))
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # a refused file stays byte for byte the same
        run(db, _SETTINGS)
    except BaseException:
        db.close()
        raise
    return db


def _upgrade(path: Path, busy_timeout_seconds: float, on_upgrade: Callable[[Path], None]) -> None:
    """Back up the journal and upgrade it to the newest version; does nothing if it has that version.

    A run of an older Ostler could not record its results in the upgraded journal, so it must end first.
    """
    from ostler.store.sqlite.recovery.backup import make_backup  # noqa: PLC0415  (rarely needed)

    with _take_upgrade_lock(path), closing(_open(path, busy_timeout_seconds)) as db:
        backups: list[Path] = []

        def back_up(version: int) -> None:
            # The write lock is held, so nothing is committed between the copy and the migration.
            with closing(_open(path, busy_timeout_seconds)) as reader:
                backups.append(make_backup(reader, path, version))

        if _require_version(db, path) < newest_version():
            _require_idle(path, busy_timeout_seconds)
            migrate(db, back_up)
        for backup in backups:
            on_upgrade(backup)


def _require_idle(path: Path, seconds: float) -> None:
    """Wait until no run holds a lock next to the journal; raises StateError after this many seconds."""
    deadline = time.monotonic() + seconds
    while _is_in_use(path.parent):
        if time.monotonic() > deadline:
            raise StateError(
                Code.STATE_BUSY,
                f"cannot upgrade the journal {path}: another Ostler process is running tasks in this project",
                "stop it (ostler run, worker or serve) and try again; the journal is unchanged",
            )
        time.sleep(_PAUSE_SECONDS)


def _is_in_use(state: Path) -> bool:
    places = (file for folder in ("runs", "locks") for file in (state / folder).glob("*"))
    return any(file.is_file() and is_locked(file) for file in places)


def _take_upgrade_lock(path: Path) -> LockHandle:
    deadline = time.monotonic() + _UPGRADE_SECONDS
    while (held := try_lock(_upgrade_lock(path))) is None:
        if time.monotonic() > deadline:
            raise busy_error(path)
        time.sleep(_PAUSE_SECONDS)
    return held


def _wait_for_upgrade(path: Path) -> None:
    deadline = time.monotonic() + _UPGRADE_SECONDS
    while is_locked(_upgrade_lock(path)) and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)


def _upgrade_lock(path: Path) -> Path:
    return path.with_name(f"{path.name}.upgrade")


def _require_file(path: Path, *, create: bool) -> None:
    if os.path.lexists(path):
        return
    if not create:
        raise UsageError(f"no Ostler project here: {path} does not exist", "ostler init")
    try:
        make_private_dir(path.parent)
        create_exclusive(path, empty_store())
    except OstlerError as error:
        if error.code is Code.WORKSPACE_WRITE_FAILED:
            raise unusable_error(path, error.message) from error
        raise


def require_headers(path: Path) -> None:
    """Raise StateError for a file that SQLite would treat as empty."""
    # SQLite treats an empty file as a new database and a damaged log as an empty one: work would be lost.
    header = _head(path, _DB_HEADER)
    if len(header) < _DB_HEADER or not header.startswith(_DB_MAGIC):
        raise corrupt_error(path, "its header is not that of a database")
    wal = path.with_name(path.name + "-wal")
    for pause in (0.01, 0.05, None):  # another process may be writing the header
        if not wal.exists() or _is_log(_head(wal, _WAL_HEADER + 1)):
            return
        if pause is not None:
            time.sleep(pause)
    raise corrupt_error(path, f"the header of {wal.name} is damaged")


def _head(path: Path, size: int) -> bytes:
    try:
        # O_NONBLOCK: do not hang if the path is a pipe.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", 0) as file:
            return file.read(size) or b""
    except FileNotFoundError:  # the last process that used the log has just removed it
        return b""


def _is_log(head: bytes) -> bool:
    """Return whether a log has a valid header; a log that ends within its header was never used."""
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


def _require_version(db: apsw.Connection, path: Path) -> int:
    """Return the version; raises StateError if it is newer than supported, or the file is not a journal."""
    if not is_ours(db):
        raise corrupt_error(path, "it is the database of another program")
    found, newest = version_of(db), newest_version()
    if found > newest:
        raise StateError(
            Code.STATE_VERSION,
            f"the journal {path} has version {found}; this Ostler supports up to {newest}",
            "upgrade Ostler",
        )
    return found


def _require_sound(db: apsw.Connection, path: Path, check_up_to: int) -> None:
    if path.stat().st_size > check_up_to:
        return
    verdict = run(db, "PRAGMA quick_check(1)")
    if verdict != [("ok",)]:
        raise corrupt_error(path, str(verdict[0][0]).replace("\n", ", "))
