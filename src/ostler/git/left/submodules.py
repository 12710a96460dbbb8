"""Finds work inside the submodules of a worktree: git lists nothing below them, and no commit contains it."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from ostler.errors import OstlerError
from ostler.git.commit.hidden import reveal_hidden
from ostler.git.commit.index import index_environment
from ostler.git.discovery import discover_repository
from ostler.git.left.walk import list_beside, walk_entries
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, query_git, run_git

_GITLINK = b"160000"


def read_gitlinks(repository: Repository, commit: str, paths: Iterator[str]) -> dict[str, str]:
    """Return the commits of submodules in a commit of the repository that contains them."""
    listed = run_git(repository, "ls-tree", "-z", commit, "--", *paths).stdout
    links = (line.partition(b"\t") for line in listed.split(b"\0") if line.startswith(_GITLINK))
    return {os.fsdecode(path): fields.split()[2].decode() for fields, _, path in links}


def is_checked_out(directory: Path) -> bool:
    """Return whether a submodule has a repository of its own, so that git can list its changes."""
    return not directory.is_symlink() and os.path.lexists(directory / ".git")


def find_changed(
    root: Path, recorded: Mapping[str, str], base: Mapping[str, str], skipped: tuple[str, ...] = ()
) -> dict[str, int]:
    """Return the submodules with work that is only here, each with a number that identifies its state.

    A submodule that cannot be read has such work. `base` are the commits before the task. Files whose names
    match `skipped` are no work.
    """
    found = {
        path: _read_state(root / path, commit, base.get(path), skipped) for path, commit in recorded.items()
    }
    return {
        path: int.from_bytes(hashlib.sha256(state.encode("utf-8", "replace")).digest()[:7], "big")
        for path, state in found.items()
        if state
    }


def _read_state(directory: Path, recorded: str, base: str | None, skipped: tuple[str, ...]) -> str:
    """Return how a submodule differs from its recorded commit; empty if it does not."""
    try:
        repository = discover_repository(directory)
        if repository is None or repository.work_tree.resolve() != directory.resolve():
            return "another repository"
        head = query_git(repository, "rev-parse", "-q", "--verify", "HEAD")
        listed = list_beside(repository)
        changes = _list_changes(repository, listed.untracked, skipped)
        lost = _find_unpublished(repository, base)
        inner = {path: one for path, one in listed.gitlinks.items() if is_checked_out(directory / path)}
        nested = find_changed(directory, inner, inner, skipped)
    except (OstlerError, OSError) as error:
        return f"unreadable: {type(error).__name__}"
    is_changed = head != recorded or changes or lost or nested
    return f"{head} {lost} {changes} {nested}" if is_changed else ""


def _list_changes(repository: Repository, untracked: list[str], skipped: tuple[str, ...]) -> str:
    """Return the changed and new files; those of nested submodules are compared separately."""
    staged = _run_status(repository)
    new = walk_entries(repository.work_tree, untracked, skipped)
    return f"{staged}{_list_hidden(repository)}{sorted(map(str, new)) or ''}"


def _run_status(repository: Repository, env: Mapping[str, str] | None = None) -> str:
    args = ("status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all")
    return os.fsdecode(run_git(repository, *args, env=env, timeout_seconds=LONG_SECONDS).stdout)


def _list_hidden(repository: Repository) -> str:
    """Return changes that flags of the index hide: git compares with a copy of the index without flags."""
    listed = os.fsdecode(run_git(repository, "ls-files", "-v", "-z", timeout_seconds=LONG_SECONDS).stdout)
    tagged = [(line[0], line[2:]) for line in listed.split("\0")[:-1] if line[0].islower() or line[0] == "S"]
    if not tagged:
        return ""
    with tempfile.TemporaryDirectory(prefix="ostler-index-") as folder:
        index = Path(folder, "index")
        shutil.copyfile(repository.git_dir / "index", index)
        reveal_hidden(repository, index, tagged)
        return _run_status(repository, index_environment(index))


def _find_unpublished(repository: Repository, base: str | None) -> str:
    """Return a commit that neither a remote nor the base has: the agent may have recorded it in the index.

    A clone packs the tags of its remote, so a tag in a file of its own was created here.
    """
    stash = query_git(repository, "rev-parse", "-q", "--verify", "refs/stash")
    if stash:
        return stash
    listed = query_git(repository, "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags")
    tags = [line.partition(" ") for line in listed.splitlines()]
    lines = ["HEAD", *(f"{_mark(repository, name)}{commit}" for commit, _, name in tags)]
    lines += [f"^{base}"] if base else []
    args = ("rev-list", "--max-count=1", "--ignore-missing", "--stdin", "--branches", "--not", "--remotes")
    return os.fsdecode(run_git(repository, *args, stdin="\n".join(lines).encode()).stdout).strip()


def _mark(repository: Repository, tag: str) -> str:
    return "" if os.path.lexists(repository.common_dir / tag) else "^"
