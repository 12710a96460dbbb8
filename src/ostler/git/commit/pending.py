"""Changes in a worktree that its index does not have yet."""

from __future__ import annotations

import os
import stat
from enum import Enum
from pathlib import Path

from msgspec import Struct

from ostler.git.commit.exclude import exclude_file, may_contain_placed
from ostler.git.commit.hidden import reveal_hidden
from ostler.git.commit.index import index_environment, rebuild_index
from ostler.git.repository import Worktree
from ostler.git.run.command import LONG_SECONDS, run_git
from ostler.git.run.failure import classify_failure, is_broken_index
from ostler.git.run.program import GitTimeout
from ostler.process.tool import ToolResult

DEFAULT_EXCLUDES = (".ostler/",)  # the agent's state copy
FIRST_SCAN_SECONDS = 20.0  # then remove pipes that may block git
# --cached with -v: the tags of all entries show those that hide their changes.
_LIST = ("ls-files", "-z", "-v", "--cached", "--others", "--modified", "--deleted", "--exclude-standard")
_UNCHANGED = b"HM"  # entries as such; a changed one is listed a second time
_GIT_FILES = frozenset((".gitignore", ".gitattributes", ".gitmodules"))


class PendingChanges(Struct, frozen=True):
    """Paths below the worktree that differ from the index."""

    written: tuple[str, ...] = ()  # new, changed or deleted
    replaced: tuple[str, ...] = ()  # index files that are now a directory, or below a link
    nested: tuple[str, ...] = ()  # repositories inside the worktree: never read, never committed
    may_be_placed: bool = False  # the index can get a path that no commit may contain


class _Kind(Enum):
    WRITTEN = "written"
    REPLACED = "replaced"
    NESTED = "nested"


def find_pending(
    worktree: Worktree, index: Path, exclude: tuple[str, ...] = DEFAULT_EXCLUDES
) -> PendingChanges:
    """Return everything that is new, changed or deleted since the index was written."""
    found: dict[_Kind, list[str]] = {kind: [] for kind in _Kind}
    output = _list_pending(worktree, index, exclude)
    if reveal_hidden(worktree.repository, index, _parse_tagged(output)):
        output = _list_pending(worktree, index, exclude)
    listed = _parse_tagged(output)
    for name in dict.fromkeys(name for tag, name in listed if tag not in "sS"):
        found[_classify(worktree.path, name)].append(name)
    return PendingChanges(
        *(tuple(found[kind]) for kind in (_Kind.WRITTEN, _Kind.REPLACED, _Kind.NESTED)),
        # The output has every path of the index, and every one that can be added to it.
        may_be_placed=may_contain_placed(worktree.repository, output, exclude),
    )


def _parse_tagged(output: bytes) -> list[tuple[str, str]]:
    """Return the tags and paths of everything that differs from the index, or could without a report."""
    lines = output.split(b"\0")[:-1]
    return [(chr(line[0]), os.fsdecode(line[2:])) for line in lines if line[0] not in _UNCHANGED]


def _list_pending(worktree: Worktree, index: Path, exclude: tuple[str, ...]) -> bytes:
    exclude_list = exclude_file(worktree.repository)
    options = (f"--exclude-from={exclude_list}",) if exclude_list.is_file() else ()
    args = (*_LIST, *(f"--exclude={pattern}" for pattern in exclude), *options)
    first = _scan(worktree, index, args)
    if first.status == 0 and b"Permission denied" not in first.stderr:
        return first.stdout
    if first.status == 0:
        open_directories(worktree.path)
    elif is_broken_index(first.stderr):
        rebuild_index(worktree, index)
    else:
        raise classify_failure(args, first.stderr, worktree.path)
    return run_git(
        worktree.repository, *args, env=index_environment(index), timeout_seconds=LONG_SECONDS
    ).stdout


def _scan(worktree: Worktree, index: Path, args: tuple[str, ...]) -> ToolResult:
    try:
        return run_git(
            worktree.repository,
            *args,
            env=index_environment(index),
            accept=(0, 128),
            timeout_seconds=FIRST_SCAN_SECONDS,
        )
    except GitTimeout:
        remove_pipes(worktree.path)
    return run_git(
        worktree.repository,
        *args,
        env=index_environment(index),
        accept=(0, 128),
        timeout_seconds=LONG_SECONDS,
    )


def _classify(root: Path, name: str) -> _Kind:
    path = root / name
    if _is_behind_link(root, name):
        return _Kind.REPLACED  # files behind the link are not read
    if path.is_symlink() or not path.is_dir():
        return _Kind.WRITTEN
    # A new nested repository is listed with a slash, a submodule with another commit without one.
    is_nested = name.endswith("/") or os.path.lexists(path / ".git")
    return _Kind.NESTED if is_nested else _Kind.REPLACED


def _is_behind_link(root: Path, name: str) -> bool:
    parents = list(Path(name).parents)[:-1]
    return any((root / parent).is_symlink() for parent in parents)


def open_directories(root: Path) -> None:
    """Make all directories below accessible; links are not followed."""
    for directory, folders, _ in os.walk(root):
        for name in folders:
            path = Path(directory, name)
            if not path.is_symlink() and not os.access(path, os.R_OK | os.W_OK | os.X_OK):
                path.chmod(0o700)


def remove_pipes(root: Path) -> None:
    """Remove pipes that have the name of a file that git reads: git would block on them."""
    for directory, _, files in os.walk(root):
        for name in _GIT_FILES.intersection(files):
            path = Path(directory, name)
            if stat.S_ISFIFO(path.lstat().st_mode):
                path.unlink()


def make_readable(root: Path, names: tuple[str, ...]) -> None:
    """Make those of our files readable that are not."""
    for name in names:
        path = root / name
        if not os.access(path, os.R_OK, follow_symlinks=False) and os.path.lexists(path):
            _make_owner_readable(path)


def _make_owner_readable(path: Path) -> None:
    mode = path.lstat().st_mode
    if stat.S_ISREG(mode):
        path.chmod(stat.S_IMODE(mode) | stat.S_IRUSR)
