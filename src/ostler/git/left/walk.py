"""Walks the untracked entries of a work tree, without dependencies and caches."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ostler.git.commit.pending import open_directories
from ostler.git.left.dependencies import has_cache_marker, is_cache_file, is_dependency_directory
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, run_git

# No exclude option: neither .gitignore nor info/exclude nor core.excludesFile hides a file here.
_LIST = ("ls-files", "-z", "-t", "--stage", "--others", "--directory", "--no-empty-directory")
_UNTRACKED, _GITLINK = b"? ", b"160000 "


class FoundFile(Struct, frozen=True, array_like=True):
    """An untracked file or link, or a changed submodule; a changed one has another size or time."""

    path: str  # below the worktree
    size: int
    modified_ns: int


class Listed(Struct, frozen=True):
    """What a work tree has beside the files of its index."""

    untracked: list[str]  # files and directories, whatever ignores them
    gitlinks: dict[str, str]  # directories of submodules in the index, with their recorded commits


def list_beside(repository: Repository) -> Listed:
    """List a work tree."""
    first = run_git(repository, *_LIST, timeout_seconds=LONG_SECONDS)
    if b"Permission denied" in first.stderr:
        open_directories(repository.work_tree)
        first = run_git(repository, *_LIST, timeout_seconds=LONG_SECONDS)
    lines = first.stdout.split(b"\0")[:-1]
    links = (line[2:].partition(b"\t") for line in lines if line.startswith(_GITLINK, 2))
    return Listed(
        [os.fsdecode(line[2:]) for line in lines if line.startswith(_UNTRACKED)],
        {os.fsdecode(path): fields.split()[1].decode() for fields, _, path in links},
    )


def walk_entries(root: Path, entries: list[str], skipped: tuple[str, ...]) -> Iterator[FoundFile]:
    """Yield the files and links of these entries."""
    for entry in entries:
        path = entry.rstrip("/")
        if is_dependency_directory(path.rpartition("/")[0], skipped):
            continue
        if stat.S_ISDIR(_mode(root / path)):
            yield from _walk_directory(root, path, skipped)
        elif (file := _describe(root, path, skipped)) is not None:
            yield file


def _walk_directory(root: Path, top: str, skipped: tuple[str, ...]) -> Iterator[FoundFile]:
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        if is_dependency_directory(folder, skipped):
            continue
        entries = _scan(root / folder)
        if entries is None:
            yield FoundFile(folder, 0, 0)  # a copy of it fails, so that the worktree is kept
            continue
        if has_cache_marker(name for name, _ in entries):
            continue
        for name, is_directory in entries:
            path = f"{folder}/{name}"
            if is_directory:
                waiting.append(path)
            elif (file := _describe(root, path, skipped)) is not None:
                yield file


def _scan(folder: Path) -> list[tuple[str, bool]] | None:
    """Return the sorted entries, or None; a directory without permissions is opened first."""
    try:
        if folder.lstat().st_mode & stat.S_IRWXU != stat.S_IRWXU:
            folder.chmod(0o700)
        with os.scandir(folder) as entries:
            return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    except FileNotFoundError:
        return []
    except OSError:
        return None


def _describe(root: Path, path: str, skipped: tuple[str, ...]) -> FoundFile | None:
    """Return a regular file or a link; None for pipes, devices, caches and what has disappeared."""
    if is_cache_file(path.rpartition("/")[2], skipped):
        return None
    try:
        found = (root / path).lstat()
    except OSError:
        return None
    is_kept = stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)
    return FoundFile(path, found.st_size, found.st_mtime_ns) if is_kept else None


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0
