"""Copies files that no commit contains to the state directory."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from ostler.files.atomic import make_private_dir, sync_filesystem
from ostler.git.left.walk import FoundFile
from ostler.git.worktree.trash import erase


def copy_files(files: Sequence[FoundFile], source: Path, destination: Path) -> None:
    """Copy the files into a new directory, all or nothing; links stay links. Raises OSError.

    Modes are 0600 and 0700. A copy of an earlier, interrupted call is replaced.
    """
    make_private_dir(destination.parent)
    staging = destination.parent / f".{destination.name}.new"
    for old in (staging, destination):
        erase(old, destination.parent)
    make_private_dir(staging)
    for file in files:
        _copy(source / file.path, staging / file.path)
    sync_filesystem(staging)
    staging.rename(destination)


def list_copied(destination: Path) -> tuple[FoundFile, ...]:
    """Return the files that an earlier call copied; none if there was no call."""
    found: list[FoundFile] = []
    for folder, folders, files in os.walk(destination):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in (*files, *links):
            path = Path(folder, name)
            status = path.lstat()
            found.append(FoundFile(str(path.relative_to(destination)), status.st_size, status.st_mtime_ns))
    return tuple(sorted(found, key=lambda one: one.path))


def _copy(source: Path, target: Path) -> None:
    if not target.parent.is_dir():
        make_private_dir(target.parent)
    mode = source.lstat().st_mode
    if stat.S_ISLNK(mode):
        target.symlink_to(source.readlink())
        return
    if not mode & stat.S_IRUSR:
        source.chmod(stat.S_IMODE(mode) | stat.S_IRUSR)
    shutil.copyfile(source, target, follow_symlinks=False)
    target.chmod(0o700 if mode & stat.S_IXUSR else 0o600)
    os.utime(target, ns=(source.lstat().st_atime_ns, source.lstat().st_mtime_ns))
