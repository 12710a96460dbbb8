"""Moves directories to a trash and deletes them later, whatever they contain."""

from __future__ import annotations

import logging
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads

TRASH = ".trash"
_JOIN_SECONDS = 0.05
_PAUSE_SECONDS = 0.02
_LONGEST_WAIT_SECONDS = 1.0  # for each directory: a disk must not fill up while there is always a checkout
_log = logging.getLogger(__name__)
_number = count()
_checkouts: set[int] = set()  # that are in progress


def discard(path: Path, worktrees: Path) -> Path | None:
    """Move a path to the trash of the worktrees; return its new path, or None if it does not exist."""
    if not os.path.lexists(path):
        return None
    trash = _make_trash(worktrees)
    if stat.S_ISDIR(path.lstat().st_mode):
        path.chmod(0o700)
    return path.rename(trash / _create_unique_name())


def erase(path: Path, worktrees: Path) -> None:
    """Delete one directory through the trash; other trash is not touched."""
    discarded = discard(path, worktrees)
    if discarded is not None:
        with _open_trash(worktrees) as top:
            _delete_entries([discarded.name], top)


def empty_trash(worktrees: Path, pause: Callable[[], object] = lambda: None) -> int:
    """Delete the trash and return how many entries could not be deleted; call `pause` before each directory.

    Links are not followed and files are not opened. Subdirectories are moved to the top before their parent
    is removed, so that neither depth nor path length matters.
    """
    if not has_trash(worktrees):
        return 0
    remaining: set[str] = set()
    with _open_trash(worktrees) as top:
        while pending := [name for name, _ in _list_entries(top) if name not in remaining]:
            remaining |= _delete_entries(pending, top, pause)
    return len(remaining)


@contextmanager
def checking_out() -> Generator[None]:
    """Let no background thread delete files meanwhile: many file systems create files slowly then."""
    number = next(_number)
    _checkouts.add(number)
    try:
        yield
    finally:
        _checkouts.discard(number)


def wait_for_checkouts() -> None:
    """Return when this process checks out no tree, or after a second."""
    end = time.monotonic() + _LONGEST_WAIT_SECONDS
    while _checkouts and time.monotonic() < end:
        time.sleep(_PAUSE_SECONDS)


def empty_trash_later(worktrees: Path, join_seconds: float = _JOIN_SECONDS) -> None:
    """Delete the trash in the background; the next run deletes what is left when this process exits.

    Waits for a moment, so that small trash is deleted at once.
    """
    if has_trash(worktrees):
        run_in_background(worktrees, partial(empty_trash, worktrees, wait_for_checkouts), join_seconds)


def run_in_background(
    worktrees: Path, work: Callable[[], object], join_seconds: float = _JOIN_SECONDS
) -> None:
    """Run work in a background thread that may be interrupted at any point; one per directory."""
    name = f"tidy {worktrees}"
    if all(thread.name != name for thread in enumerate_threads()):
        thread = Thread(target=_run_and_log_errors, args=(work,), name=name, daemon=True)
        thread.start()
        if join_seconds:
            thread.join(join_seconds)


def has_trash(worktrees: Path) -> bool:
    """Return whether the trash has entries."""
    trash = worktrees / TRASH
    try:
        with os.scandir(trash) as entries:
            return not trash.is_symlink() and next(entries, None) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False


def _make_trash(worktrees: Path) -> Path:
    """Create the trash directory; removes a file or a link in its place."""
    trash = worktrees / TRASH
    if trash.is_symlink() or (trash.exists() and not trash.is_dir()):
        trash.unlink(missing_ok=True)
    trash.mkdir(mode=0o700, parents=True, exist_ok=True)
    return trash


def _run_and_log_errors(work: Callable[[], object]) -> None:
    try:
        work()
    except OSError as error:
        _log.warning("could not delete released files: %s", error)


@contextmanager
def _open_trash(worktrees: Path) -> Generator[int]:
    top = os.open(worktrees / TRASH, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield top
    finally:
        os.close(top)


def _delete_entries(pending: list[str], top: int, pause: Callable[[], object] = lambda: None) -> set[str]:
    """Delete the entries and their content; return the names that could not be deleted."""
    remaining: set[str] = set()
    while pending:
        pause()
        name = pending.pop()
        if not _delete_entry(name, top, pending):
            remaining.add(name)
    return remaining


def _delete_entry(name: str, top: int, pending: list[str]) -> bool:
    try:
        if not _is_directory(name, top):
            os.unlink(name, dir_fd=top)
            return True
        inside = _open_directory(name, top)
        try:
            for child, is_directory in _list_entries(inside):
                _delete_or_lift(child, is_directory, inside, top, pending)
        finally:
            os.close(inside)
        os.rmdir(name, dir_fd=top)
    except FileNotFoundError:
        return True  # another run deletes it
    except OSError:
        return False
    return True


def _delete_or_lift(name: str, is_directory: bool, inside: int, top: int, pending: list[str]) -> None:
    if not is_directory:
        os.unlink(name, dir_fd=inside)
        return
    with suppress(OSError):  # it is not empty
        os.rmdir(name, dir_fd=inside)
        return
    os.chmod(name, 0o700, dir_fd=inside)
    lifted = _create_unique_name()
    os.rename(name, lifted, src_dir_fd=inside, dst_dir_fd=top)
    pending.append(lifted)


def _open_directory(name: str, parent: int) -> int:
    os.chmod(name, 0o700, dir_fd=parent)
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)


def _list_entries(directory: int) -> list[tuple[str, bool]]:
    with os.scandir(directory) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


def _is_directory(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def _create_unique_name() -> str:
    return f"{os.getpid()}-{time.time_ns()}-{next(_number)}"
