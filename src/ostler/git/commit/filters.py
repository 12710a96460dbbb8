"""Files that need a filter to be committed: git-lfs runs if it is installed, other filters never run."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from ostler.errors import Code, GitError
from ostler.git.repository import Repository
from ostler.git.run.command import encode_names, run_git
from ostler.git.run.program import search_path
from ostler.git.run.safe_config import read_config_entries, read_safe_config

_ATTRIBUTES, _SPARSE = ".gitattributes", "core.sparsecheckout"
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
    if not _may_have_filters(repository, paths):
        return []
    args = ("check-attr", "-z", "--stdin", "filter")
    output = os.fsdecode(run_git(repository, *args, stdin=encode_names(paths), env=env).stdout).split("\0")
    pairs = zip(output[::3], output[2::3], strict=False)
    return [(path, name) for path, name in pairs if _is_file(repository.work_tree / path)]


def _may_have_filters(repository: Repository, paths: tuple[str, ...]) -> bool:
    """Return whether an attributes file of these paths contains the word, or only git can tell."""
    if _SPARSE in (name for name, _ in read_config_entries(repository)):
        return True  # an attributes file can be missing in the worktree
    folders = {folder for path in paths for folder in PurePosixPath(path).parents}
    files = [repository.work_tree / folder / _ATTRIBUTES for folder in folders]
    files += [repository.common_dir / "info" / "attributes", repository.git_dir / "info" / "attributes"]
    # A file that was deleted in the worktree still applies: git reads it in the index.
    deleted = (path for path in paths if PurePosixPath(path).name == _ATTRIBUTES)
    deleted = (path for path in deleted if not _is_file(repository.work_tree / path))
    return any(map(_contains_filter, files)) or any(deleted)


def _contains_filter(file: Path) -> bool:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return True
        with os.fdopen(os.dup(descriptor), "rb") as opened:
            return b"filter" in opened.read()
    finally:
        os.close(descriptor)


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
