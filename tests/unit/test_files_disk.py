"""The messages for errors of the machine."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ostler.errors import Code, OstlerError, UsageError
from ostler.files.disk import require_writable, to_disk_error, to_machine_error


@pytest.mark.parametrize(
    ("number", "code", "exit_code"),
    [
        (errno.ENOSPC, Code.DISK_FULL, 1),
        (errno.EDQUOT, Code.DISK_FULL, 1),
        (errno.EIO, Code.STORAGE_ERROR, 1),
        (errno.EMFILE, Code.SPAWN_FAILED, 1),
        (errno.EACCES, Code.WORKSPACE_WRITE_FAILED, 2),
        (errno.EROFS, Code.WORKSPACE_WRITE_FAILED, 2),
    ],
)
def test_each_errno_has_its_code_and_names_the_path(number: int, code: Code, exit_code: int) -> None:
    """The table; every sentence has the path and a next step."""
    reported = to_disk_error(Path("/some/place"), OSError(number, ""))
    assert (reported.code, reported.exit) == (code, exit_code)
    assert "/some/place" in reported.message and reported.hint


def test_a_read_only_disk_stops_the_run() -> None:
    """It is a UsageError, which stops the run; a single file without write permission fails only its task."""
    assert isinstance(to_disk_error("x", OSError(errno.EROFS, "")), UsageError)
    assert not isinstance(to_disk_error("x", OSError(errno.EACCES, "")), UsageError)


@pytest.mark.parametrize(
    ("surprise", "code"),
    [
        (OSError(errno.ENOSPC, "", "/a/file"), Code.DISK_FULL),
        (OSError(errno.EAGAIN, ""), Code.SPAWN_FAILED),
        (MemoryError(), Code.SPAWN_FAILED),
        (RuntimeError("can't start new thread"), Code.SPAWN_FAILED),
        (OSError(errno.ENOENT, ""), None),
        (RuntimeError("a bug"), None),
        (KeyError("a bug"), None),
    ],
)
def test_only_the_machine_is_blamed_for_what_only_it_can_do(surprise: Exception, code: Code | None) -> None:
    """An error that may be a bug of Ostler is not reported as an error of the machine."""
    reported = to_machine_error(surprise)
    assert (reported.code if isinstance(reported, OstlerError) else None) == code


def test_a_place_without_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write everywhere, so the result is simulated; tests/crash uses real read-only disks."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageError, match=str(tmp_path)):
        require_writable(tmp_path)


def test_a_writable_or_missing_place_is_fine(tmp_path: Path) -> None:
    """A missing directory is accepted here: the code that needs it creates or refuses it."""
    require_writable(tmp_path)
    require_writable(tmp_path / "missing")
