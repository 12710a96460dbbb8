"""Removes everything from a tree that git did not check out."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from ostler.git.commit.index import index_environment, is_valid_index
from ostler.git.repository import Repository
from ostler.git.run.command import run_git
from ostler.git.worktree.registration import is_empty
from ostler.git.worktree.trash import discard

_GITLINK = "160000"


class UntrustedTree(Exception):
    """The tree cannot be restored to its original state."""


class TreeShape(Struct, frozen=True):
    """The expected content of an unused tree."""

    modes: dict[str, int]  # path -> type and mode of a file; 0 for a directory
    gitlinks: tuple[str, ...]  # directories that stay empty
    mode: int  # of a new directory under the current umask
    owner: int


def sanitize_tree(tree: Path, index: Path, repository: Repository, worktrees: Path) -> None:
    """Move away what the index does not name, or what has another type or mode.

    Files with other content stay: git detects them by the index. Raises UntrustedTree.
    """
    shape = _read_shape(index, repository, _read_default_mode(index.parent))
    tree.chmod(shape.mode)
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        _require_default_attributes(tree / folder, shape)
        for foreign_path in _find_foreign_entries(tree, folder, shape, waiting):
            if discard(Path(foreign_path), worktrees) is None:
                raise UntrustedTree(f"{foreign_path} disappeared: another process uses this tree")
    for path in shape.gitlinks:
        if not ((tree / path).is_dir() and is_empty(tree / path)):
            raise UntrustedTree(f"{path} is not an empty directory")


def _read_shape(index: Path, repository: Repository, mode: int) -> TreeShape:
    if not is_valid_index(index):
        raise UntrustedTree(f"{index} is damaged")
    kinds = {
        "100644": stat.S_IFREG | mode & 0o666,
        "100755": stat.S_IFREG | mode & 0o777,
        "120000": stat.S_IFLNK | 0o777,
        _GITLINK: 0,
    }
    answer = run_git(
        repository, "ls-files", "--format=%(objectmode) %(path)", "-z", env=index_environment(index)
    ).stdout
    lines = [line.split(" ", 1) for line in os.fsdecode(answer).split("\0")[:-1]]
    modes = {path: kinds[kind] for kind, path in lines}
    gitlinks = tuple(path for kind, path in lines if kind == _GITLINK)
    return TreeShape(modes | _list_folders(modes), gitlinks, mode, os.geteuid())


def _list_folders(files: dict[str, int]) -> dict[str, int]:
    folders: dict[str, int] = {}
    for path in files:
        above = path.rpartition("/")[0]
        while above and above not in folders:
            folders[above] = 0
            above = above.rpartition("/")[0]
    return folders


def _find_foreign_entries(tree: Path, folder: str, shape: TreeShape, waiting: list[str]) -> list[str]:
    """Return the entries of a directory to remove; directories that stay are appended to `waiting`."""
    foreign: list[str] = []
    prefix = f"{folder}/" if folder else ""
    modes, owner = shape.modes, shape.owner
    with os.scandir(tree / folder) as entries:
        for entry in entries:
            mode = modes.get(prefix + entry.name)
            if mode:
                status = entry.stat(follow_symlinks=False)
                if status.st_mode != mode or status.st_nlink != 1 or status.st_uid != owner:
                    foreign.append(entry.path)
            elif mode is not None and entry.is_dir(follow_symlinks=False):
                waiting.append(prefix + entry.name)
            else:
                foreign.append(entry.path)
    return foreign


def _require_default_attributes(folder: Path, shape: TreeShape) -> None:
    """Raise if the directory has another mode or owner, or attributes that new files would inherit."""
    status = folder.lstat()
    if stat.S_IMODE(status.st_mode) != shape.mode or status.st_uid != shape.owner:
        raise UntrustedTree(f"{folder} has an unexpected mode or owner")
    if any(not name.startswith("security.") for name in _list_attributes(folder)):
        raise UntrustedTree(f"{folder} has extended attributes")


def _list_attributes(folder: Path) -> list[str]:
    list_function = getattr(os, "listxattr", None)
    return list_function(folder, follow_symlinks=False) if list_function is not None else []


def _read_default_mode(directory: Path) -> int:
    """Return the mode of a new directory; reading the umask would change it."""
    probe = directory / f"probe-{os.urandom(4).hex()}"
    probe.mkdir()
    mode = stat.S_IMODE(probe.lstat().st_mode)
    probe.rmdir()
    return mode
