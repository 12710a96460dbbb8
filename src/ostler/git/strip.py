"""Takes everything out of a tree that was not checked out into it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from ostler.git.command import run
from ostler.git.index import is_sound, using
from ostler.git.registration import is_empty
from ostler.git.repository import Repository
from ostler.git.trash import discard

_GITLINK = "160000"


class Doubtful(Exception):
    """The tree cannot be made what it was."""


class Shape(Struct, frozen=True):
    """What a tree consists of when nobody has worked in it."""

    modes: dict[str, int]  # path -> kind and mode of a file; a directory has 0
    gitlinks: tuple[str, ...]  # directories that stay empty
    mode: int  # of a directory that is made here and now
    owner: int


def strip(tree: Path, index: Path, repository: Repository, worktrees: Path) -> None:
    """Move away what the index does not name, and what is not of the kind and mode that it had.

    Files with other content stay: git sees by the index that they were changed. Raises Doubtful.
    """
    shape = _shape(index, repository, _fresh_mode(index.parent))
    tree.chmod(shape.mode)
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        _require_plain(tree / folder, shape)
        for stranger in _strangers(tree, folder, shape, waiting):
            if discard(Path(stranger), worktrees) is None:
                raise Doubtful(f"{stranger} is gone: someone else is at work here")
    for path in shape.gitlinks:
        if not ((tree / path).is_dir() and is_empty(tree / path)):
            raise Doubtful(f"{path} should be an empty directory")


def _shape(index: Path, repository: Repository, mode: int) -> Shape:
    if not is_sound(index):
        raise Doubtful(f"{index} is damaged")
    kinds = {
        "100644": stat.S_IFREG | mode & 0o666,
        "100755": stat.S_IFREG | mode & 0o777,
        "120000": stat.S_IFLNK | 0o777,
        _GITLINK: 0,
    }
    answer = run(repository, "ls-files", "--format=%(objectmode) %(path)", "-z", env=using(index)).stdout
    lines = [line.split(" ", 1) for line in os.fsdecode(answer).split("\0")[:-1]]
    modes = {path: kinds[kind] for kind, path in lines}
    gitlinks = tuple(path for kind, path in lines if kind == _GITLINK)
    return Shape(modes | _folders(modes), gitlinks, mode, os.geteuid())


def _folders(files: dict[str, int]) -> dict[str, int]:
    folders: dict[str, int] = {}
    for path in files:
        above = path.rpartition("/")[0]
        while above and above not in folders:
            folders[above] = 0
            above = above.rpartition("/")[0]
    return folders


def _strangers(tree: Path, folder: str, shape: Shape, waiting: list[str]) -> list[str]:
    """What has to leave a directory; the directories that stay are put down for later."""
    strangers: list[str] = []
    prefix = f"{folder}/" if folder else ""
    known, owner = shape.modes, shape.owner
    with os.scandir(tree / folder) as entries:
        for entry in entries:
            mode = known.get(prefix + entry.name)
            if mode:
                about = entry.stat(follow_symlinks=False)
                if about.st_mode != mode or about.st_nlink != 1 or about.st_uid != owner:
                    strangers.append(entry.path)
            elif mode is not None and entry.is_dir(follow_symlinks=False):
                waiting.append(prefix + entry.name)
            else:
                strangers.append(entry.path)
    return strangers


def _require_plain(folder: Path, shape: Shape) -> None:
    """Nothing but its entries is there to be inherited: no mode, no owner, no attribute."""
    about = folder.lstat()
    if stat.S_IMODE(about.st_mode) != shape.mode or about.st_uid != shape.owner:
        raise Doubtful(f"{folder} has another mode or owner than it was made with")
    if any(not name.startswith("security.") for name in _attributes(folder)):
        raise Doubtful(f"{folder} has extended attributes")


def _attributes(folder: Path) -> list[str]:
    listed = getattr(os, "listxattr", None)
    return listed(folder, follow_symlinks=False) if listed is not None else []


def _fresh_mode(place: Path) -> int:
    """What the umask makes of a new directory; to ask for the umask is to change it."""
    probe = place / f"probe-{os.urandom(4).hex()}"
    probe.mkdir()
    mode = stat.S_IMODE(probe.lstat().st_mode)
    probe.rmdir()
    return mode
