"""Files that need a filter to be committed: git-lfs runs if it is installed, other filters never run."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from ostler.errors import Code, GitError
from ostler.git.repository import Repository
from ostler.git.run.command import encode_names, run_git
from ostler.git.run.program import search_path
from ostler.git.run.safe_config import read_safe_config

_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_SETTINGS = {"filter.lfs.clean": "git-lfs clean -- %f", "filter.lfs.required": "true"}


def build_filter_settings(
    repository: Repository, paths: tuple[str, ...], env: Mapping[str, str]
) -> dict[str, str]:
    """Return the git settings needed to commit these paths. Raises LFS_UNAVAILABLE if a filter cannot run."""
    filters = _list_filters(repository, paths, env)
    for path, name in filters:
        if name != "lfs" and name in read_safe_config(repository).required_filters:
            raise _create_filter_error(
                repository, path, name, "commit it yourself; Ostler does not run filters of a repository"
            )
    large_path = next(
        (path for path, name in filters if name == "lfs" and _has_content(repository, path)), None
    )
    if large_path is None:
        return {}
    if shutil.which("git-lfs", path=search_path()) is None:
        raise _create_filter_error(repository, large_path, "lfs", "install git-lfs")
    return _LFS_SETTINGS


def _list_filters(
    repository: Repository, paths: tuple[str, ...], env: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the paths that are files, each with the filter that its attributes name."""
    args = ("check-attr", "-z", "--stdin", "filter")
    output = os.fsdecode(run_git(repository, *args, stdin=encode_names(paths), env=env).stdout).split("\0")
    pairs = zip(output[::3], output[2::3], strict=False)
    return [(path, name) for path, name in pairs if _is_file(repository.work_tree / path)]


def _has_content(repository: Repository, path: str) -> bool:
    """Return whether the file is the content and not an LFS pointer."""
    with (repository.work_tree / path).open("rb") as file:
        return file.read(len(_POINTER)) != _POINTER


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _create_filter_error(repository: Repository, path: str, name: str, hint: str) -> GitError:
    message = (
        f"{path} in {repository.work_tree} needs the filter {name}, which cannot run; nothing was committed"
    )
    return GitError(Code.LFS_UNAVAILABLE, message, hint)
