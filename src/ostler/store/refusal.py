"""What an error of SQLite means: one place turns each kind into a code and a sentence."""

from __future__ import annotations

import errno
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import apsw

from ostler.errors import Code, OstlerError, StateError, UsageError
from ostler.files.disk import disk_error


def corrupt(path: Path, detail: str) -> StateError:
    return StateError(
        Code.STATE_CORRUPT,
        f"the journal {path} is damaged ({detail}); the file is kept",
        "restore a backup, or move the file away to start anew",
    )


def busy(path: Path) -> StateError:
    return StateError(
        Code.STATE_BUSY, f"another process holds the journal {path}", "try again; nothing was changed"
    )


def unusable(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"the journal {path} cannot be opened and written: {reason}",
        "check that the place exists, is yours and is not read-only",
    )


def refusal(path: Path, error: apsw.Error | OSError) -> OstlerError | None:
    """The error for a person; None for one that only a bug of ours can cause."""
    match error:
        case OSError():
            told = disk_error(path, error)
            if told.code is Code.WORKSPACE_WRITE_FAILED:
                told = unusable(path, (error.strerror or str(error)).lower())
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            told = busy(path)
        case apsw.CorruptError() | apsw.NotADBError() | apsw.FormatError():
            told = corrupt(path, str(error))
        case apsw.SQLError():  # our SQL is fixed and tested: the tables are not those that we made
            told = corrupt(path, str(error))
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            told = unusable(path, str(error))
        case apsw.FullError():
            told = disk_error(path, OSError(errno.ENOSPC, ""))
        case apsw.IOError(extendedresult=apsw.SQLITE_IOERR_SHMSIZE):  # no room for the log's index
            told = disk_error(path, OSError(errno.ENOSPC, ""))
        case apsw.IOError():
            told = disk_error(path, OSError(errno.EIO, ""))
        case _:
            told = None
    return told


@contextmanager
def explained(path: Path, on_refusal: Callable[[OstlerError], None] = lambda _: None) -> Generator[None]:
    """Turn what SQLite or the disk raises inside into errors that a caller can act on."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        told = refusal(path, error)
        if told is None:
            raise
        on_refusal(told)
        raise told from error
