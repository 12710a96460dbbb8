"""The lock on a git directory between runs, and stale lock files of git."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ostler.errors import Code, GitError
from ostler.git.repository import Repository

STALE_AFTER_SECONDS = 10.0
WAIT_SECONDS = 12.0  # longer than STALE_AFTER_SECONDS, so that stale lock files are removed, not reported
_log = logging.getLogger(__name__)


@contextmanager
def hold_lock(directory: Path, timeout_seconds: float = 60.0) -> Generator[int]:
    """Lock a git directory against other runs; writes nothing to it.

    Yields a descriptor: a git process that inherits it holds the lock until it exits, even if this process is
    killed.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor, directory, timeout_seconds)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, directory: Path, timeout_seconds: float) -> None:
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                message = f"another Ostler process has used {directory} for more than {timeout_seconds:g} s"
                raise GitError(Code.GIT_LOCKED, message, "wait for it, or stop it") from None
            time.sleep(0.01)


def clear_lock_file(lock: Path, repository: Repository, timeout_seconds: float = 2.0) -> None:
    """Remove the lock file that git of a killed agent left in the task's worktree."""
    deadline = time.monotonic() + timeout_seconds
    while lock.exists() and time.monotonic() < deadline:
        if not remove_if_stale(lock, repository, after_seconds=1.0):
            time.sleep(0.05)


def remove_if_stale(lock: Path, repository: Repository, after_seconds: float = STALE_AFTER_SECONDS) -> bool:
    """Remove a lock file of this repository that is old and not used by a git process."""
    roots = (repository.git_dir.resolve(), repository.common_dir.resolve())
    directory_of_lock = lock.parent.resolve()
    if (
        not any(directory_of_lock.is_relative_to(root) for root in roots)
        or not _is_old(lock, after_seconds)
        or _is_owned(lock, repository)
    ):
        return False
    _log.warning("removed %s, a stale lock file of git", lock)
    lock.unlink(missing_ok=True)
    return True


def _is_old(lock: Path, after_seconds: float) -> bool:
    try:
        return time.time() - lock.lstat().st_mtime > after_seconds
    except FileNotFoundError:
        return False


def _is_owned(lock: Path, repository: Repository) -> bool:
    """Return whether a git process has the lock file open or runs in this work tree."""
    import psutil  # noqa: PLC0415  (20 ms, rarely needed)

    for process in psutil.process_iter():
        try:
            if not process.name().startswith("git"):
                continue
            if Path(process.cwd()) in (repository.work_tree, repository.git_dir):
                return True
            if any(Path(file.path) == lock for file in process.open_files()):
                return True
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied:
            return True
    return False
