"""Creates mount points in directories that a sandboxed program can write.

A symbolic link on the way to a mount point would lead bubblewrap, which resolves paths outside the sandbox,
to another place: it would create files there, and what the mount has to cover would stay uncovered.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ostler.files.disk import to_disk_error
from ostler.sandbox.links.link import list_directory

if TYPE_CHECKING:
    from ostler.sandbox.mounts import Mount


@contextlib.contextmanager
def prepare_writable(mounts: Iterable[Mount]) -> Generator[None]:
    """Create the mount points that are inside earlier writable mounts; afterwards all is as before."""
    done: list[Mount] = []
    with contextlib.ExitStack() as undo:
        for mount in mounts:
            outer = _find_outer(mount.destination, done)
            if outer is not None and outer.writable:
                relative = mount.destination.relative_to(outer.destination)
                create_mount_point(outer.source, relative, mount.source.is_dir(), undo)
            done.append(mount)
        yield


def _find_outer(path: Path, mounts: list[Mount]) -> Mount | None:
    """Return the mount that has this path: of those around it, the last one hides the others."""
    around = (one for one in reversed(mounts) if path.is_relative_to(one.destination))
    return next(around, None)


def create_mount_point(root: Path, relative: Path, is_directory: bool, undo: contextlib.ExitStack) -> None:
    """Create an empty file or directory below `root`; links and files on the way are restored afterwards."""
    place = root
    try:
        for number, part in enumerate(relative.parts, 1):
            place /= part
            _create(root, place, is_directory or number < len(relative.parts), undo)
    except OSError as error:
        raise to_disk_error(place, error) from error


def _create(root: Path, place: Path, is_directory: bool, undo: contextlib.ExitStack) -> None:
    if place.is_symlink():
        target, modified = str(place.readlink()), place.lstat().st_mtime_ns
        place.unlink()
        undo.callback(_restore_link, root, place, target, modified)
    elif place.exists():
        if place.is_dir() == is_directory:
            return
        aside = place.with_name(f"{place.name}.{os.urandom(8).hex()}")
        place.rename(aside)
        undo.callback(_restore, root, place, aside)
    if is_directory:
        place.mkdir()
    else:
        place.touch()
    undo.callback(_remove, root, place)


def _remove(root: Path, place: Path) -> None:
    """Remove an empty mount point; the program may have replaced it, or a directory on the way."""
    with contextlib.suppress(OSError):
        if not _is_reached(root, place):
            return
        if place.is_dir() and not place.is_symlink():
            if not list_directory(place):
                place.rmdir()
        elif place.lstat().st_size == 0:
            place.unlink()


def _restore(root: Path, place: Path, aside: Path) -> None:
    with contextlib.suppress(OSError):
        if _is_reached(root, place) and not place.is_symlink() and not place.exists():
            aside.rename(place)


def _restore_link(root: Path, place: Path, target: str, modified: int) -> None:
    """Create the link again with its time: another time would make it a file of the agent."""
    with contextlib.suppress(OSError):
        if _is_reached(root, place):
            place.symlink_to(target)
            os.utime(place, ns=(modified, modified), follow_symlinks=False)


def _is_reached(root: Path, place: Path) -> bool:
    """Return whether no directory between both is a symbolic link."""
    between = place.parent.relative_to(root).parts
    return not any(root.joinpath(*between[:count]).is_symlink() for count in range(1, len(between) + 1))
