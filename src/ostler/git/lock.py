"""Who may work on a repository now: our own lock, and the lock files that git leaves behind."""

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
PATIENCE_SECONDS = 12.0  # longer than STALE_AFTER_SECONDS: what a killed git left is outlived, not reported
_log = logging.getLogger(__name__)


@contextmanager
def hold(directory: Path, patience_seconds: float = 60.0) -> Generator[int]:
    """Keep other runs out of a git directory; nothing is written there.

    Yields a descriptor: a git that inherits it keeps the lock until it ends, even if this process is killed.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor, directory, patience_seconds)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, directory: Path, patience_seconds: float) -> None:
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                message = f"another Ostler has worked on {directory} for more than {patience_seconds:g} s"
                raise GitError(Code.GIT_LOCKED, message, "wait for it, or stop it") from None
            time.sleep(0.01)


def clear(lock: Path, repository: Repository, patience_seconds: float = 2.0) -> None:
    """Free a task's own worktree of the lock file that a killed agent's git left there."""
    deadline = time.monotonic() + patience_seconds
    while lock.exists() and time.monotonic() < deadline:
        if not remove_if_stale(lock, repository, after_seconds=1.0):
            time.sleep(0.05)


def remove_if_stale(lock: Path, repository: Repository, after_seconds: float = STALE_AFTER_SECONDS) -> bool:
    """Remove a lock file that is ours to judge, is old, and has no live git behind it."""
    roots = (repository.git_dir.resolve(), repository.common_dir.resolve())
    place = lock.parent.resolve()
    if (
        not any(place.is_relative_to(root) for root in roots)
        or not _is_old(lock, after_seconds)
        or _is_owned(lock, repository)
    ):
        return False
    _log.warning("removed %s, which a git that is gone had left", lock)
    lock.unlink(missing_ok=True)
    return True


def _is_old(lock: Path, after_seconds: float) -> bool:
    try:
        return time.time() - lock.lstat().st_mtime > after_seconds
    except FileNotFoundError:
        return False


def _is_owned(lock: Path, repository: Repository) -> bool:
    """Whether a live git has the lock open or works in this very tree."""
    import psutil  # noqa: PLC0415  (20 ms, and hardly ever needed)

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
