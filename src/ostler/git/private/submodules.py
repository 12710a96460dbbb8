"""The submodules of a worktree that are checked out, found without git."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ostler.errors import GitError
from ostler.git.repository import Repository
from ostler.git.run.safe_config import read_config_entries

_MAX_DEPTH = 6  # the name of a submodule is usually its path


def find_submodules(repository: Repository) -> dict[str, Repository]:
    """Return each repository by a short name that is a valid file name."""
    found: dict[str, Repository] = {}
    for git_dir in _list_git_directories(repository.git_dir / "modules"):
        work_tree = _find_work_tree(git_dir)
        if work_tree is not None and work_tree.is_relative_to(os.path.realpath(repository.work_tree)):
            name = hashlib.sha256(os.fsencode(git_dir.relative_to(repository.git_dir))).hexdigest()[:12]
            found[name] = Repository(work_tree, git_dir, git_dir)
    return found


def _list_git_directories(modules: Path, depth: int = 0) -> list[Path]:
    """Return the git directories below; those of nested submodules are found from their own."""
    if depth > _MAX_DEPTH or not modules.is_dir():
        return []
    found: list[Path] = []
    for path in sorted(one for one in modules.iterdir() if one.is_dir() and not one.is_symlink()):
        is_git_dir = (path / "HEAD").is_file() and (path / "objects").is_dir()
        found += [path] if is_git_dir else _list_git_directories(path, depth + 1)
    return found


def _find_work_tree(git_dir: Path) -> Path | None:
    try:
        entries = dict(read_config_entries(Repository(git_dir, git_dir, git_dir)))
    except GitError:
        return None
    named = entries.get("core.worktree", "")
    path = Path(os.path.realpath(git_dir / named)) if named else None
    return path if path is not None and (path / ".git").is_file() else None
