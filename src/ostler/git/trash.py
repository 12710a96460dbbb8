"""Takes directories away at once and deletes them later, whatever an agent left inside."""

from __future__ import annotations

import os
import stat
import time
from itertools import count
from pathlib import Path

TRASH = ".trash"
_number = count()


def discard(path: Path, worktrees: Path) -> Path | None:
    """Move a directory out of the way, into the trash of the worktrees; None when there was nothing."""
    if not os.path.lexists(path):
        return None
    trash = worktrees / TRASH
    trash.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stat.S_ISDIR(path.lstat().st_mode):
        path.chmod(0o700)
    return path.rename(trash / _unique())


def empty_trash(worktrees: Path) -> int:
    """Delete what was discarded; how many entries would not go this time.

    No link is followed, no file opened and no mode minded. A directory's directories are lifted to the top
    before it is removed, so that neither depth nor the length of a path matters.
    """
    try:
        top = os.open(worktrees / TRASH, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return 0
    try:
        waiting, stayed = _names(top), 0
        while waiting:
            stayed += not _dissolve(waiting.pop(), top, waiting)
        return stayed
    finally:
        os.close(top)


def _dissolve(name: str, top: int, waiting: list[str]) -> bool:
    try:
        if not _is_directory(name, top):
            os.unlink(name, dir_fd=top)
            return True
        inside = _open(name, top)
        try:
            for child in _names(inside):
                _take_out(child, inside, top, waiting)
        finally:
            os.close(inside)
        os.rmdir(name, dir_fd=top)
    except FileNotFoundError:
        return True  # another run deletes too
    except OSError:
        return False
    return True


def _take_out(name: str, inside: int, top: int, waiting: list[str]) -> None:
    if not _is_directory(name, inside):
        os.unlink(name, dir_fd=inside)
        return
    os.chmod(name, 0o700, dir_fd=inside)
    lifted = _unique()
    os.rename(name, lifted, src_dir_fd=inside, dst_dir_fd=top)
    waiting.append(lifted)


def _open(name: str, parent: int) -> int:
    os.chmod(name, 0o700, dir_fd=parent)
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)


def _names(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries]


def _is_directory(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def _unique() -> str:
    return f"{os.getpid()}-{time.time_ns()}-{next(_number)}"
