"""Resolve and open untrusted relative paths without leaving their root."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

from ostler.errors import PathEscape

_WALK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ALWAYS = os.O_CLOEXEC | os.O_NONBLOCK  # non-blocking: a planted FIFO must not hang us
_OPENAT2 = 437  # on alpha 437 is unused: ENOSYS, and the stepwise fallback runs
_BENEATH, _NO_SYMLINKS, _NO_MAGIC_LINKS = 0x08, 0x04, 0x02
_MAX_LINKS = 40  # the limit of the kernel
_MAX_NAME, _MAX_PATH = 255, 4095
_LEFT_ROOT = frozenset({errno.EXDEV, errno.ELOOP})
_NO_OPENAT2 = frozenset(
    {errno.ENOSYS, errno.EPERM, errno.EAGAIN}
)  # old kernel, seccomp, or a race in the kernel


def resolve_beneath(root: Path, relative: str, *, to_link: bool = False) -> Path:
    """Return the path below root; raise PathEscape when it leaves it, crosses a link, or is a link without
    `to_link`.
    """
    place, parts = root, split_beneath(relative)
    for number, part in enumerate(parts, 1):
        place /= part
        if _is_link(place) and not (to_link and number == len(parts)):
            raise PathEscape(f"{relative!r} crosses the symbolic link {place}")
    return place


def open_beneath(root: Path, relative: str, flags: int, mode: int = 0o600) -> int:
    """Open a regular file or directory below root, safe against links swapped in meanwhile."""
    fd = open_any_beneath(root, relative, flags, mode)
    kind = os.fstat(fd).st_mode
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind):
        return fd
    os.close(fd)
    raise PathEscape(f"{relative!r} is a device, socket or pipe")


def open_any_beneath(
    root: Path, relative: str, flags: int, mode: int = 0o600, *, inner_links: bool = False
) -> int:
    """Open like open_beneath, pipes and devices included; with `inner_links` follow links that stay below
    root.
    """
    parts = split_beneath(relative)
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fd = _open_in_kernel(top, "/".join(parts), flags, mode, inner_links)
        if fd is None:
            fd = _open_stepwise(top, parts, flags, mode, inner_links)
    except OSError as error:
        if error.errno in _LEFT_ROOT:
            raise link_error(relative, leaving=inner_links) from error
        raise
    finally:
        os.close(top)
    return fd


def link_error(relative: str, *, leaving: bool = False) -> PathEscape:
    """Return the error for a path that crosses a link."""
    return PathEscape(f"{relative!r} crosses a symbolic link{' that leaves its root' if leaving else ''}")


def split_beneath(relative: str) -> list[str]:
    """Return the path's components; raise PathEscape for a text that is not a path below a root."""
    parts = [part for part in relative.split("/") if part not in ("", ".")]
    leaves = not parts or ".." in parts or relative.startswith(("/", "~"))
    if leaves or not _is_valid_name(relative):
        raise PathEscape(f"{_shorten(relative)} is not a path below its root")
    if len(os.fsencode(relative)) > _MAX_PATH or any(len(os.fsencode(p)) > _MAX_NAME for p in parts):
        raise PathEscape(f"{_shorten(relative)} is too long for a path")
    return parts


def open_child(here: int, part: str, flags: int = _WALK, mode: int = 0) -> int:
    """Open a direct child of a directory; raise OSError ELOOP when it is a link."""
    try:
        return os.open(part, flags | os.O_NOFOLLOW, mode, dir_fd=here)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(part, dir_fd=here, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part) from None
        raise


def _shorten(relative: str) -> str:
    return repr(relative if len(relative) <= 80 else f"{relative[:80]}…")


def _is_valid_name(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _is_link(place: Path) -> bool:
    try:
        return stat.S_ISLNK(place.lstat().st_mode)
    except OSError:  # missing or unreadable: opening it reports the error
        return False


def _open_stepwise(top: int, parts: list[str], flags: int, mode: int, inner_links: bool) -> int:
    trail, waiting = [os.dup(top)], parts[::-1]
    links_left = _MAX_LINKS if inner_links else 0
    try:
        while waiting:
            part = waiting.pop()
            if part in (".", ".."):  # only in the target of a link
                _apply_dots(trail, part)
                continue
            try:
                below = open_child(trail[-1], part, _WALK if waiting else flags | _ALWAYS, mode)
            except OSError as error:
                if error.errno != errno.ELOOP or not links_left:
                    raise
                links_left -= 1
                waiting += _link_parts(trail[-1], part)[::-1]
                continue
            if not waiting:
                return below
            trail.append(below)
        return open_child(trail[-1], ".", flags | _ALWAYS, mode)  # the last link pointed to a directory
    finally:
        for fd in trail:
            os.close(fd)


def _apply_dots(trail: list[int], dots: str) -> None:
    if dots == ".." and len(trail) == 1:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    if dots == "..":
        os.close(trail.pop())


def _link_parts(here: int, link: str) -> list[str]:
    try:
        target = os.readlink(link, dir_fd=here)
    except OSError as error:
        if error.errno == errno.EINVAL:  # not a link any more: retry
            return [link]
        raise
    if target.startswith("/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), link)
    # a trailing slash requires a directory, as a dot does
    return [part or "." for part in target.split("/")]


def _open_in_kernel(top: int, relative: str, flags: int, mode: int, inner_links: bool) -> int | None:
    """Open with one openat2 call; return None where it is not available."""
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
