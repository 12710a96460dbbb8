"""Translates errors of SQLite and of the disk into errors with a code and a hint."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import apsw

from ostler.errors import Code, OstlerError, StateError, UsageError
from ostler.files.disk import to_disk_error
from ostler.text import describe_os_error

DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError)
"""What SQLite raises for damaged pages, and (our SQL is fixed and tested) for tables that are not ours."""


def corrupt_error(path: Path, detail: str) -> StateError:
    return StateError(
        Code.STATE_CORRUPT,
        f"the journal {path} is damaged ({detail}); the file is kept",
        "ostler journal rebuild   makes a new one, from a backup (--from PATH) or from the tasks' files",
    )


def busy_error(path: Path) -> StateError:
    return StateError(
        Code.STATE_BUSY, f"another process has locked the journal {path}", "try again; nothing was changed"
    )


def unusable_error(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"the journal {path} cannot be opened and written: {reason}",
        "check that the directory exists, belongs to you and is not read-only",
    )


def translate_error(path: Path, error: apsw.Error | OSError) -> OstlerError | None:
    """Return the error to raise instead; None for an error that only a bug can cause."""
    match error:
        case OSError():
            translated = to_disk_error(path, error)
            if translated.code is Code.WORKSPACE_WRITE_FAILED:
                translated = unusable_error(path, describe_os_error(error))
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            translated = busy_error(path)
        case apsw.CorruptError() | apsw.NotADBError() | apsw.FormatError() | apsw.SQLError():
            translated = corrupt_error(path, str(error))
        case apsw.CantOpenError() if _lacks_descriptors():
            translated = to_disk_error(path, OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            translated = unusable_error(path, str(error))
        case apsw.FullError():
            translated = to_disk_error(path, OSError(errno.ENOSPC, ""))
        case apsw.IOError(extendedresult=apsw.SQLITE_IOERR_SHMSIZE):
            # There is no space for the index of the write-ahead log.
            translated = to_disk_error(path, OSError(errno.ENOSPC, ""))
        case apsw.IOError():
            translated = to_disk_error(path, OSError(errno.EIO, ""))
        case _:
            translated = None
    return translated


def _lacks_descriptors() -> bool:
    """Return whether this process cannot open the three files of a journal: SQLite does not report it."""
    opened: list[int] = []
    try:
        for _ in range(3):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return False


@contextmanager
def translate_errors(path: Path, on_error: Callable[[OstlerError], None] = lambda _: None) -> Generator[None]:
    """Raise the errors of SQLite and of the disk as errors that a caller can handle."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        translated = translate_error(path, error)
        if translated is None:
            raise
        on_error(translated)
        raise translated from error
