"""Paths that cannot leave their root, whatever an agent, a task or a link says."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

from ostler.errors import PathEscape

_WALK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ALWAYS = os.O_CLOEXEC | os.O_NONBLOCK  # non-blocking: a planted FIFO must not hang us
_OPENAT2 = 437  # on every architecture but alpha, where 437 is nothing: ENOSYS, and the steps are taken
_BENEATH, _NO_SYMLINKS, _NO_MAGIC_LINKS = 0x08, 0x04, 0x02
_MOST_LINKS = 40  # as many as the kernel follows
_LONGEST_NAME, _LONGEST_PATH = 255, 4095
_LEFT_ROOT = frozenset({errno.EXDEV, errno.ELOOP})
_NO_OPENAT2 = frozenset({errno.ENOSYS, errno.EPERM, errno.EAGAIN})  # old kernel, seccomp, a race inside it


def resolve_beneath(root: Path, relative: str, *, to_link: bool = False) -> Path:
    """The path below root; refuses one that leaves it, or crosses a link, or is one without `to_link`."""
    place, parts = root, parts_beneath(relative)
    for number, part in enumerate(parts, 1):
        place /= part
        if _is_link(place) and not (to_link and number == len(parts)):
            raise PathEscape(f"{relative!r} crosses the symbolic link {place}")
    return place


def open_beneath(root: Path, relative: str, flags: int, mode: int = 0o600) -> int:
    """Open a plain file or a directory below root; nothing can be swapped for a link meanwhile."""
    fd = open_anything_beneath(root, relative, flags, mode)
    kind = os.fstat(fd).st_mode
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind):
        return fd
    os.close(fd)
    raise PathEscape(f"{relative!r} is a device, a socket or a pipe")


def open_anything_beneath(
    root: Path, relative: str, flags: int, mode: int = 0o600, *, inner_links: bool = False
) -> int:
    """The same for pipes and devices, too; with `inner_links`, links that stay below root are followed."""
    parts = parts_beneath(relative)
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fd = _open_in_kernel(top, "/".join(parts), flags, mode, inner_links)
        if fd is None:
            fd = _open_by_steps(top, parts, flags, mode, inner_links)
    except OSError as error:
        if error.errno in _LEFT_ROOT:
            raise crossing(relative, leaving=inner_links) from error
        raise
    finally:
        os.close(top)
    return fd


def crossing(relative: str, *, leaving: bool = False) -> PathEscape:
    """The refusal of a path on which a link was met."""
    return PathEscape(f"{relative!r} crosses a symbolic link{' that leaves its root' if leaving else ''}")


def parts_beneath(relative: str) -> list[str]:
    """The names on the way; PathEscape for a text that is no path below a root."""
    parts = [part for part in relative.split("/") if part not in ("", ".")]
    leaves = not parts or ".." in parts or relative.startswith(("/", "~"))
    if leaves or not _is_a_name(relative):
        raise PathEscape(f"{_shown(relative)} is not a path below its root")
    if len(os.fsencode(relative)) > _LONGEST_PATH or any(len(os.fsencode(p)) > _LONGEST_NAME for p in parts):
        raise PathEscape(f"{_shown(relative)} is too long for a path")
    return parts


def step_into(here: int, part: str, flags: int = _WALK, mode: int = 0) -> int:
    """Open what is directly in a directory; OSError ELOOP when it is a link."""
    try:
        return os.open(part, flags | os.O_NOFOLLOW, mode, dir_fd=here)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(part, dir_fd=here, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part) from None
        raise


def _shown(relative: str) -> str:
    return repr(relative if len(relative) <= 80 else f"{relative[:80]}…")


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


def _open_by_steps(top: int, parts: list[str], flags: int, mode: int, inner_links: bool) -> int:
    trail, waiting = [os.dup(top)], parts[::-1]
    links_left = _MOST_LINKS if inner_links else 0
    try:
        while waiting:
            part = waiting.pop()
            if part in (".", ".."):  # in a link's text only
                _step_back(trail, part)
                continue
            try:
                below = step_into(trail[-1], part, _WALK if waiting else flags | _ALWAYS, mode)
            except OSError as error:
                if error.errno != errno.ELOOP or not links_left:
                    raise
                links_left -= 1
                waiting += _link_parts(trail[-1], part)[::-1]
                continue
            if not waiting:
                return below
            trail.append(below)
        return step_into(trail[-1], ".", flags | _ALWAYS, mode)  # the last link named a directory
    finally:
        for fd in trail:
            os.close(fd)


def _step_back(trail: list[int], dots: str) -> None:
    if dots == ".." and len(trail) == 1:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    if dots == "..":
        os.close(trail.pop())


def _link_parts(here: int, link: str) -> list[str]:
    try:
        target = os.readlink(link, dir_fd=here)
    except OSError as error:
        if error.errno == errno.EINVAL:  # no link any more: look again
            return [link]
        raise
    if target.startswith("/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), link)
    # a slash at the end asks for a directory, as a dot does
    return [part or "." for part in target.split("/")]


def _open_in_kernel(top: int, relative: str, flags: int, mode: int, inner_links: bool) -> int | None:
    """One openat2 call; None where the system has none."""
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415  (4 ms that most commands need not spend)

    resolve = _BENEATH | (_NO_MAGIC_LINKS if inner_links else _NO_SYMLINKS)
    flags |= _ALWAYS if inner_links else _ALWAYS | os.O_NOFOLLOW
    how = (ctypes.c_uint64 * 3)(flags, mode if flags & os.O_CREAT else 0, resolve)
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    fd = int(syscall(_OPENAT2, top, os.fsencode(relative), ctypes.byref(how), ctypes.sizeof(how)))
    if fd >= 0:
        return fd
    number = ctypes.get_errno()
    if number in _NO_OPENAT2:
        return None
    raise OSError(number, os.strerror(number), relative)
