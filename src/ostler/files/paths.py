"""Paths that cannot leave their root, whatever an agent, a task or a link says."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

from ostler.errors import PathEscape

_WALK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ALWAYS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # non-blocking: a planted FIFO must not hang us
_OPENAT2 = 437
_BENEATH_NO_SYMLINKS = 0x08 | 0x04
_LEFT_ROOT = frozenset({errno.EXDEV, errno.ELOOP})
_NO_OPENAT2 = frozenset({errno.ENOSYS, errno.EPERM, errno.EAGAIN})  # old kernel, seccomp, a race inside it


def resolve_beneath(root: Path, relative: str, *, to_link: bool = False) -> Path:
    """The path below root; refuses one that leaves it, or crosses a link, or is one without `to_link`."""
    place, parts = root, _parts(relative)
    for number, part in enumerate(parts, 1):
        place /= part
        if _is_link(place) and not (to_link and number == len(parts)):
            raise PathEscape(f"{relative!r} crosses the symbolic link {place}")
    return place


def open_beneath(root: Path, relative: str, flags: int, mode: int = 0o600) -> int:
    """Open a plain file or a directory below root; nothing can be swapped for a link meanwhile."""
    parts = _parts(relative)
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fd = _open_in_kernel(top, "/".join(parts), flags | _ALWAYS, mode)
        if fd is None:
            fd = _open_by_steps(top, parts, flags | _ALWAYS, mode)
    except OSError as error:
        if error.errno in _LEFT_ROOT:
            raise PathEscape(f"{relative!r} crosses a symbolic link") from error
        raise
    finally:
        os.close(top)
    return _require_plain(fd, relative)


def _parts(relative: str) -> list[str]:
    parts = [part for part in relative.split("/") if part not in ("", ".")]
    leaves = not parts or ".." in parts or relative.startswith(("/", "~"))
    if leaves or not _is_a_name(relative):
        raise PathEscape(f"{relative!r} is not a path below its root")
    return parts


def _is_a_name(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _is_link(place: Path) -> bool:
    try:
        return stat.S_ISLNK(place.lstat().st_mode)
    except OSError:  # not there, or out of reach: whoever opens it is told
        return False


def _require_plain(fd: int, relative: str) -> int:
    kind = os.fstat(fd).st_mode
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind):
        return fd
    os.close(fd)
    raise PathEscape(f"{relative!r} is a device, a socket or a pipe")


def _open_by_steps(top: int, parts: list[str], flags: int, mode: int) -> int:
    here = os.dup(top)
    try:
        for part in parts[:-1]:
            below = _step_into(here, part)
            os.close(here)
            here = below
        return os.open(parts[-1], flags, mode, dir_fd=here)
    finally:
        os.close(here)


def _step_into(here: int, part: str) -> int:
    try:
        return os.open(part, _WALK, dir_fd=here)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(part, dir_fd=here, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part) from None
        raise


def _open_in_kernel(top: int, relative: str, flags: int, mode: int) -> int | None:
    """One openat2 call; None where the system has none."""
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415  (4 ms that most commands need not spend)

    how = (ctypes.c_uint64 * 3)(flags, mode if flags & os.O_CREAT else 0, _BENEATH_NO_SYMLINKS)
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    fd = int(syscall(_OPENAT2, top, os.fsencode(relative), ctypes.byref(how), ctypes.sizeof(how)))
    if fd >= 0:
        return fd
    number = ctypes.get_errno()
    if number in _NO_OPENAT2:
        return None
    raise OSError(number, os.strerror(number), relative)
