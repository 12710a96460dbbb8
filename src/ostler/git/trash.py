"""Takes directories away at once and deletes them later, whatever an agent left inside."""

from __future__ import annotations

import logging
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads

TRASH = ".trash"
_MOMENT_SECONDS = 0.05
_log = logging.getLogger(__name__)
_number = count()


def discard(path: Path, worktrees: Path) -> Path | None:
    """Move a directory out of the way, into the trash of the worktrees; None when there was nothing."""
    if not os.path.lexists(path):
        return None
    trash = _make_trash(worktrees)
    if stat.S_ISDIR(path.lstat().st_mode):
        path.chmod(0o700)
    return path.rename(trash / _unique())


def erase(path: Path, worktrees: Path) -> None:
    """Delete one directory, by way of the trash; what else is in there is left to others."""
    gone = discard(path, worktrees)
    if gone is not None:
        with _opened(worktrees) as top:
            _dissolve_all([gone.name], top)


def empty_trash(worktrees: Path) -> int:
    """Delete what was discarded; how many entries would not go this time.

    No link is followed, no file opened and no mode minded. A directory's directories are lifted to the top
    before it is removed, so that neither depth nor the length of a path matters.
    """
    if not has_trash(worktrees):
        return 0
    stayed: set[str] = set()
    with _opened(worktrees) as top:
        while waiting := [name for name, _ in _entries(top) if name not in stayed]:
            stayed |= _dissolve_all(waiting, top)
    return len(stayed)


def empty_later(worktrees: Path) -> None:
    """Delete what was discarded beside whatever else goes on; what the end of the process cuts off is left.

    A moment is waited, so that little is gone at once.
    """
    if has_trash(worktrees):
        do_later(worktrees, partial(empty_trash, worktrees))


def do_later(worktrees: Path, work: Callable[[], object]) -> None:
    """The same for any work of which nothing is lost when it is cut off; one at a time."""
    name = f"tidy {worktrees}"
    if all(thread.name != name for thread in enumerate_threads()):
        thread = Thread(target=_quietly, args=(work,), name=name, daemon=True)
        thread.start()
        thread.join(_MOMENT_SECONDS)


def has_trash(worktrees: Path) -> bool:
    """Whether anything waits to be deleted."""
    trash = worktrees / TRASH
    try:
        with os.scandir(trash) as entries:
            return not trash.is_symlink() and next(entries, None) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False


def _make_trash(worktrees: Path) -> Path:
    """Its directory; whatever an agent has put in its place goes."""
    trash = worktrees / TRASH
    if trash.is_symlink() or (trash.exists() and not trash.is_dir()):
        trash.unlink(missing_ok=True)
    trash.mkdir(mode=0o700, parents=True, exist_ok=True)
    return trash


def _quietly(work: Callable[[], object]) -> None:
    try:
        work()
    except OSError as error:
        _log.warning("what was released could not be tidied up: %s", error)


@contextmanager
def _opened(worktrees: Path) -> Generator[int]:
    top = os.open(worktrees / TRASH, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield top
    finally:
        os.close(top)


def _dissolve_all(waiting: list[str], top: int) -> set[str]:
    """Which of them, and of what is in them, would not go."""
    stayed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if not _dissolve(name, top, waiting):
            stayed.add(name)
    return stayed


def _dissolve(name: str, top: int, waiting: list[str]) -> bool:
    try:
        if not _is_directory(name, top):
            os.unlink(name, dir_fd=top)
            return True
        inside = _open(name, top)
        try:
            for child, is_directory in _entries(inside):
                _take_out(child, is_directory, inside, top, waiting)
        finally:
            os.close(inside)
        os.rmdir(name, dir_fd=top)
    except FileNotFoundError:
        return True  # another run deletes too
    except OSError:
        return False
    return True


def _take_out(name: str, is_directory: bool, inside: int, top: int, waiting: list[str]) -> None:
    if not is_directory:
        os.unlink(name, dir_fd=inside)
        return
    os.chmod(name, 0o700, dir_fd=inside)
    lifted = _unique()
    os.rename(name, lifted, src_dir_fd=inside, dst_dir_fd=top)
    waiting.append(lifted)


def _open(name: str, parent: int) -> int:
    os.chmod(name, 0o700, dir_fd=parent)
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)


def _entries(directory: int) -> list[tuple[str, bool]]:
    with os.scandir(directory) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


def _is_directory(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def _unique() -> str:
    return f"{os.getpid()}-{time.time_ns()}-{next(_number)}"
