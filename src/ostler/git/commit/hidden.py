"""Index entries whose changes git does not report: assume-unchanged and skip-worktree."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ostler.git.commit.index import index_environment
from ostler.git.repository import Repository
from ostler.git.run.command import encode_names, run_git
from ostler.git.run.safe_config import read_config_entries

_ON = ("true", "yes", "on", "1", "")


def reveal_hidden(repository: Repository, index: Path, tagged: Iterable[tuple[str, str]]) -> bool:
    """Clear the bits in this index; return whether there were any.

    `tagged` are paths with the tags of `git ls-files -v`. A new worktree has no such bits except those of a
    sparse checkout, whose missing files stay as they are.
    """
    assumed = tuple(path for tag, path in tagged if tag.islower())
    skipped = tuple(path for tag, path in tagged if tag in "sS")
    if skipped and _is_sparse(repository):
        skipped = tuple(path for path in skipped if os.path.lexists(repository.work_tree / path))
    _clear(repository, index, "--no-assume-unchanged", assumed)
    _clear(repository, index, "--no-skip-worktree", skipped)
    return bool(assumed or skipped)


def _clear(repository: Repository, index: Path, option: str, paths: tuple[str, ...]) -> None:
    if paths:
        args = ("update-index", option, "-z", "--stdin")
        run_git(repository, *args, stdin=encode_names(paths), env=index_environment(index))


def _is_sparse(repository: Repository) -> bool:
    entries = dict(read_config_entries(repository))
    return entries.get("core.sparsecheckout", "false").lower() in _ON
