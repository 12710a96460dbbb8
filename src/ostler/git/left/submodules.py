"""Finds work inside the submodules of a worktree: git lists nothing below them, and no commit contains it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ostler.errors import OstlerError
from ostler.git.discovery import discover_repository
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, query_git, run_git

_GITLINK = b"160000"


def list_gitlinks(repository: Repository) -> dict[str, str]:
    """Return the directories of submodules in the index, with their recorded commits."""
    listed = run_git(repository, "ls-files", "-z", "--stage", timeout_seconds=LONG_SECONDS).stdout
    return _parse(line for line in listed.split(b"\0") if line.startswith(_GITLINK))


def read_gitlinks(repository: Repository, commit: str, paths: Iterator[str]) -> dict[str, str]:
    """Return the commits of submodules in a commit of the repository that contains them."""
    listed = run_git(repository, "ls-tree", "-z", commit, "--", *paths).stdout
    return _parse(line for line in listed.split(b"\0") if line.startswith(_GITLINK))


def is_checked_out(directory: Path) -> bool:
    """Return whether a submodule has a repository of its own, so that git can list its changes."""
    return not directory.is_symlink() and os.path.lexists(directory / ".git")


def find_changed(root: Path, recorded: Mapping[str, str], base: Mapping[str, str]) -> dict[str, int]:
    """Return the submodules with work that is only here, each with a number that identifies its state.

    A submodule that cannot be read has such work. `base` are the commits before the task.
    """
    found = {path: _read_state(root / path, commit, base.get(path)) for path, commit in recorded.items()}
    return {
        path: int.from_bytes(hashlib.sha256(state.encode("utf-8", "replace")).digest()[:7], "big")
        for path, state in found.items()
        if state
    }


def _read_state(directory: Path, recorded: str, base: str | None) -> str:
    """Return how a submodule differs from its recorded commit; empty if it does not."""
    try:
        repository = discover_repository(directory)
        if repository is None or repository.work_tree.resolve() != directory.resolve():
            return "another repository"
        head = query_git(repository, "rev-parse", "-q", "--verify", "HEAD")
        changes = _list_changes(repository)
        lost = _find_unpublished(repository, base)
        inner = list_gitlinks(repository)
        inner = {path: commit for path, commit in inner.items() if is_checked_out(directory / path)}
        nested = find_changed(directory, inner, inner)
    except (OstlerError, OSError) as error:
        return f"unreadable: {type(error).__name__}"
    is_changed = head != recorded or changes or lost or nested
    return f"{head} {lost} {changes} {nested}" if is_changed else ""


def _list_changes(repository: Repository) -> str:
    """Return the changed and new files; those of nested submodules are compared separately."""
    args = ("status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all")
    return os.fsdecode(run_git(repository, *args, timeout_seconds=LONG_SECONDS).stdout)


def _find_unpublished(repository: Repository, base: str | None) -> str:
    """Return a commit that neither a remote nor the base has: the agent may have recorded it in the index."""
    known = ("--remotes", "--tags", *filter(None, [base]))
    args = ("rev-list", "--max-count=1", "--ignore-missing", "--branches", "HEAD", "--not", *known)
    return query_git(repository, *args)


def _parse(lines: Iterator[bytes]) -> dict[str, str]:
    """Return path and commit; ls-files and ls-tree have them in different columns."""
    entries = (line.partition(b"\t") for line in lines)
    return {
        os.fsdecode(path): next(word for word in fields.split()[1:] if len(word) >= 40).decode()
        for fields, _, path in entries
    }
