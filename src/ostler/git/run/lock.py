"""The lock on a git directory between runs, and stale lock files of git."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

from ostler.errors import Code, GitError
from ostler.files.lock_owner import describe_owner
from ostler.git.repository import Repository
from ostler.waits import Wait

STALE_AFTER_SECONDS = 10.0
# As long as the slowest operation that may hold a lock: a checkout of a large repository.
WAIT_SECONDS = 1800.0
_CHECK_SECONDS = 0.05  # between two looks at whether a wait is over
_own_locks: WeakValueDictionary[tuple[int, int], Lock] = WeakValueDictionary()
_own_locks_lock = Lock()
_log = logging.getLogger(__name__)


@contextmanager
def hold_lock(directory: Path, timeout_seconds: float = WAIT_SECONDS) -> Generator[int]:
    """Lock a git directory against other runs; writes nothing to it.

    Yields a descriptor: a git process that inherits it holds the lock until it exits, even if this process is
    killed.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    wait = Wait(lambda: describe_lock(directory), timeout_seconds, pause_seconds=0.01)
    try:
        own = _find_own_lock(descriptor)
        _lock_between_threads(own, wait, directory, timeout_seconds)
    except BaseException:
        os.close(descriptor)
        raise
    try:
        _lock(descriptor, wait, directory, timeout_seconds)
        yield descriptor
    finally:
        os.close(descriptor)
        own.release()


def _find_own_lock(descriptor: int) -> Lock:
    """Return the lock on a directory between the threads of this process."""
    found = os.fstat(descriptor)
    with _own_locks_lock:
        return _own_locks.setdefault((found.st_dev, found.st_ino), Lock())


def _lock_between_threads(own: Lock, wait: Wait, directory: Path, timeout_seconds: float) -> None:
    """Take the lock as soon as another task of this process releases it."""
    while not own.acquire(timeout=_CHECK_SECONDS):
        if not wait.check():
            raise _describe_failure(directory, timeout_seconds)


def _lock(descriptor: int, wait: Wait, directory: Path, timeout_seconds: float) -> None:
    while not _try_flock(descriptor):
        if not wait.pause():
            raise _describe_failure(directory, timeout_seconds)
    wait.finish()


def _describe_failure(directory: Path, timeout_seconds: float) -> GitError:
    message = f"another Ostler process has used {directory} for more than {timeout_seconds:g} s"
    return GitError(Code.GIT_LOCKED, message, "wait for it, or stop it")


def describe_lock(directory: Path) -> str:
    return f"waiting for {directory}: {describe_owner(directory)} uses it"


def _try_flock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
