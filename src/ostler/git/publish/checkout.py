"""Finds the directory in which a branch is checked out."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.git.repository import Repository
from ostler.git.run.command import query_git

_CONFIG_FILES = ("config.worktree", "config")


def find_checkout(repository: Repository, branch: str, main_checkout: Path | None) -> str:
    """Return the directory in which the branch is checked out, or an empty string.

    `main_checkout` is the user's checkout if its git directory is that of the repository.
    """
    named = query_git(repository, "for-each-ref", "--format=%(worktreepath)", f"refs/heads/{branch}")
    if not named or os.path.realpath(named) != os.path.realpath(repository.common_dir):
        return named
    # Git names its own directory for a submodule, for --separate-git-dir and for a bare repository.
    if work_tree := _read_setting(repository, "core.worktree"):
        return os.path.realpath(repository.common_dir / work_tree)
    if main_checkout is not None:
        return str(main_checkout)
    return "" if _read_setting(repository, "core.bare") == "true" else named


def _read_setting(repository: Repository, name: str) -> str:
    """Return a setting of the main checkout: that of a task's worktree has its own file."""
    files = [repository.common_dir / file for file in _CONFIG_FILES]
    values = (
        query_git(repository, "config", "--file", str(file), "--get", name)
        for file in files
        if file.is_file()
    )
    return next(filter(None, values), "")
