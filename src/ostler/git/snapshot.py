"""The content of a worktree as a git tree, whatever state its index, HEAD and files were left in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from ostler.git.command import LONG_SECONDS, as_stdin, run
from ostler.git.failure import explain, is_broken_index
from ostler.git.filters import settings_for_filters
from ostler.git.permissions import make_readable, open_directories
from ostler.git.repository import Worktree

EXCLUDE = (".ostler/",)  # the agent's state copy
_LIST = ("ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard")


class Pending(Struct, frozen=True):
    """What differs from the index, as paths below the worktree."""

    paths: tuple[str, ...]
    nested: tuple[str, ...]  # repositories inside the worktree: never entered, never committed


class Snapshot(Struct, frozen=True):
    tree: str
    nested: tuple[str, ...] = ()


@contextmanager
def private_index(worktree: Worktree) -> Generator[Path]:
    """A copy of the worktree's index to work on, in the same place so that it can be renamed over it."""
    git_dir = worktree.repository.git_dir
    with TemporaryDirectory(prefix="ostler-", dir=git_dir) as directory:
        index = Path(directory) / "index"
        original = git_dir / "index"
        if original.is_file() and not original.is_symlink():
            shutil.copy2(
                original, index
            )  # with its time: git compares it with the files' to find late writes
        else:
            _rebuild(worktree, index)
        yield index


def take_snapshot(worktree: Worktree, index: Path, exclude: tuple[str, ...] = EXCLUDE) -> Snapshot:
    """Bring the index to what the files are, and write its tree."""
    pending = find_pending(worktree, index, exclude)
    env = {"GIT_INDEX_FILE": str(index)}
    if pending.paths:
        make_readable(worktree.path, pending.paths)
        settings = settings_for_filters(worktree.repository, pending.paths, env)
        run(
            worktree.repository,
            *("update-index", "--add", "--remove", "--replace", "-z", "--stdin"),
            stdin=as_stdin(pending.paths),
            env=env,
            settings=settings,
            timeout_seconds=LONG_SECONDS,
        )
    tree = run(worktree.repository, "write-tree", env=env).stdout.decode().strip()
    return Snapshot(tree, tuple(path.rstrip("/") for path in pending.nested))


def find_pending(worktree: Worktree, index: Path, exclude: tuple[str, ...] = EXCLUDE) -> Pending:
    """Paths that are new, changed or gone since the index was written."""
    listed = os.fsdecode(_list(worktree, index, exclude)).split("\0")[:-1]
    names = tuple(dict.fromkeys(listed))
    nested = tuple(name for name in names if _is_nested(worktree.path, name))
    skipped = frozenset(nested)
    ours = (name for name in names if name not in skipped and not _is_behind_link(worktree.path, name))
    return Pending(tuple(ours), nested)


def tree_of(worktree: Worktree, commit: str) -> str:
    """The tree of a commit."""
    args = ("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")
    return run(worktree.repository, *args).stdout.decode().strip()


def _list(worktree: Worktree, index: Path, exclude: tuple[str, ...]) -> bytes:
    args = (*_LIST, *(f"--exclude={pattern}" for pattern in exclude))
    env = {"GIT_INDEX_FILE": str(index)}
    finished = run(worktree.repository, *args, env=env, accept=(0, 128), timeout_seconds=LONG_SECONDS)
    if finished.status == 0 and b"Permission denied" not in finished.stderr:
        return finished.stdout
    if finished.status == 0:
        open_directories(worktree.path)
    elif is_broken_index(finished.stderr):
        _rebuild(worktree, index)
    else:
        raise explain(args, finished.stderr, worktree.path)
    return run(worktree.repository, *args, env=env, timeout_seconds=LONG_SECONDS).stdout


def _rebuild(worktree: Worktree, index: Path) -> None:
    index.unlink(missing_ok=True)
    run(worktree.repository, "read-tree", worktree.ref, env={"GIT_INDEX_FILE": str(index)})


def _is_nested(root: Path, name: str) -> bool:
    """Git lists a new nested repository with a slash, and a submodule whose commit moved without one."""
    return name.endswith("/") or os.path.lexists(root / name / ".git")


def _is_behind_link(root: Path, name: str) -> bool:
    """A file whose directory became a link: it goes when the link is added, and is not read through it."""
    parents = list(Path(name).parents)[:-1]
    return any((root / parent).is_symlink() for parent in parents)
