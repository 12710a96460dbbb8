"""What an agent left that its worktree's index does not have yet."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path

from msgspec import Struct

from ostler.git.command import LONG_SECONDS, run
from ostler.git.exclude import exclude_file
from ostler.git.failure import explain, is_broken_index
from ostler.git.index import rebuild, using
from ostler.git.obstacles import open_directories, remove_pipes
from ostler.git.program import GitTimeout
from ostler.git.repository import Worktree
from ostler.process.tool import Finished

EXCLUDE = (".ostler/",)  # the agent's state copy
FIRST_LOOK_SECONDS = 20.0  # then a pipe may be in the way
_LIST = ("ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard")


class Pending(Struct, frozen=True):
    """What differs from the index, as paths below the worktree."""

    written: tuple[str, ...] = ()  # new, changed or deleted
    replaced: tuple[str, ...] = ()  # files of the index where a directory is now, or a link above
    nested: tuple[str, ...] = ()  # repositories inside the worktree: never entered, never committed


class _Kind(Enum):
    WRITTEN = "written"
    REPLACED = "replaced"
    NESTED = "nested"


def find_pending(worktree: Worktree, index: Path, exclude: tuple[str, ...] = EXCLUDE) -> Pending:
    """Everything that is new, changed or gone since the index was written."""
    found: dict[_Kind, list[str]] = {kind: [] for kind in _Kind}
    listed = os.fsdecode(_list(worktree, index, exclude)).split("\0")[:-1]
    for name in dict.fromkeys(listed):
        found[_kind(worktree.path, name)].append(name)
    return Pending(*(tuple(found[kind]) for kind in (_Kind.WRITTEN, _Kind.REPLACED, _Kind.NESTED)))


def _list(worktree: Worktree, index: Path, exclude: tuple[str, ...]) -> bytes:
    prepared = exclude_file(worktree.repository)
    also = (f"--exclude-from={prepared}",) if prepared.is_file() else ()
    args = (*_LIST, *(f"--exclude={pattern}" for pattern in exclude), *also)
    first = _look(worktree, index, args)
    if first.status == 0 and b"Permission denied" not in first.stderr:
        return first.stdout
    if first.status == 0:
        open_directories(worktree.path)
    elif is_broken_index(first.stderr):
        rebuild(worktree, index)
    else:
        raise explain(args, first.stderr, worktree.path)
    return run(worktree.repository, *args, env=using(index), timeout_seconds=LONG_SECONDS).stdout


def _look(worktree: Worktree, index: Path, args: tuple[str, ...]) -> Finished:
    try:
        return run(
            worktree.repository, *args, env=using(index), accept=(0, 128), timeout_seconds=FIRST_LOOK_SECONDS
        )
    except GitTimeout:
        remove_pipes(worktree.path)
    return run(worktree.repository, *args, env=using(index), accept=(0, 128), timeout_seconds=LONG_SECONDS)


def _kind(root: Path, name: str) -> _Kind:
    path = root / name
    if _is_behind_link(root, name):
        return _Kind.REPLACED  # what is there now is not read through the link
    if path.is_symlink() or not path.is_dir():
        return _Kind.WRITTEN
    # A new nested repository is listed with a slash, a submodule whose commit moved without one.
    is_nested = name.endswith("/") or os.path.lexists(path / ".git")
    return _Kind.NESTED if is_nested else _Kind.REPLACED


def _is_behind_link(root: Path, name: str) -> bool:
    parents = list(Path(name).parents)[:-1]
    return any((root / parent).is_symlink() for parent in parents)
