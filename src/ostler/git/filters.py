"""Files that may be committed only through a filter: through git-lfs if it is there, or not at all."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from ostler.errors import Code, GitError
from ostler.git.command import as_stdin, run
from ostler.git.program import search_path
from ostler.git.repository import Repository
from ostler.git.shield import shield

_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_SETTINGS = {"filter.lfs.clean": "git-lfs clean -- %f", "filter.lfs.required": "true"}


def settings_for_filters(
    repository: Repository, paths: tuple[str, ...], env: Mapping[str, str]
) -> dict[str, str]:
    """What git needs to commit these paths; raises LFS_UNAVAILABLE rather than let one in unfiltered."""
    filters = _filters(repository, paths, env)
    for path, name in filters:
        if name != "lfs" and name in shield(repository).required_filters:
            raise _unavailable(
                repository, path, name, "commit it yourself; Ostler runs no filter of a repository"
            )
    large = next((path for path, name in filters if name == "lfs" and _has_content(repository, path)), None)
    if large is None:
        return {}
    if shutil.which("git-lfs", path=search_path()) is None:
        raise _unavailable(repository, large, "lfs", "install git-lfs")
    return _LFS_SETTINGS


def _filters(repository: Repository, paths: tuple[str, ...], env: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each of the paths that is a file, with the filter that its attributes name."""
    args = ("check-attr", "-z", "--stdin", "filter")
    answer = os.fsdecode(run(repository, *args, stdin=as_stdin(paths), env=env).stdout).split("\0")
    pairs = zip(answer[::3], answer[2::3], strict=False)
    return [(path, name) for path, name in pairs if _is_file(repository.work_tree / path)]


def _has_content(repository: Repository, path: str) -> bool:
    """Whether a file is the large thing itself, and not the pointer that stands for it."""
    with (repository.work_tree / path).open("rb") as file:
        return file.read(len(_POINTER)) != _POINTER


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _unavailable(repository: Repository, path: str, name: str, hint: str) -> GitError:
    message = (
        f"{path} in {repository.work_tree} needs the filter {name}, which cannot run; nothing was committed"
    )
    return GitError(Code.LFS_UNAVAILABLE, message, hint)
