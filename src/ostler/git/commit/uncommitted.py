"""Uncommitted changes of the user's checkout: lists them, and commits them without touching it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from ostler.config.find import PROJECT_FILE
from ostler.errors import Code, GitError
from ostler.files.state_folder import VIEW
from ostler.git.commit.filters import build_filter_settings
from ostler.git.commit.index import index_environment
from ostler.git.identity import read_identity
from ostler.git.refs import find_base
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, encode_names, query_git, run_git
from ostler.git.run.failure import with_git_errors
from ostler.git.user_settings import read_user_settings

_STATUS = ("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
_LIST = ("ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard")


def list_uncommitted(repository: Repository, timeout_seconds: float = LONG_SECONDS) -> tuple[str, ...]:
    """Return the changed and untracked files, except an untracked settings file of Ostler."""
    settings = read_user_settings(repository)
    output = run_git(repository, *_STATUS, settings=settings, timeout_seconds=timeout_seconds).stdout
    lines = [line for line in os.fsdecode(output).split("\0") if line]
    return tuple(line[3:] for line in lines if not _is_own_file(line))


@with_git_errors
def commit_uncommitted(repository: Repository, message: str) -> str:
    """Commit all changes and untracked files on top of HEAD; return HEAD's commit if there are none.

    The files, the index, the stash and the branches of the user stay as they are.
    """
    head = find_base(repository).commit
    if query_git(repository, "ls-files", "--unmerged"):
        where = repository.work_tree
        raise GitError(Code.USAGE, f"{where} has unresolved conflicts", "resolve them, then try again")
    tree = _write_tree(repository)
    if tree == query_git(repository, "rev-parse", f"{head}^{{tree}}"):
        return head
    args, env = ("commit-tree", tree, "-p", head, "-F", "-"), read_identity(repository).environment()
    return run_git(repository, *args, stdin=f"{message}\n".encode(), env=env).stdout.decode().strip()


def _write_tree(repository: Repository) -> str:
    """Write the files of the checkout as a tree, with a copy of its index."""
    with TemporaryDirectory(prefix="ostler-", dir=repository.git_dir) as directory:
        index = Path(directory) / "index"
        if (repository.git_dir / "index").exists():
            # Copy the modification time too: git compares it with the files.
            shutil.copy2(repository.git_dir / "index", index)
        env = index_environment(index)
        _stage(repository, env)
        return run_git(repository, "write-tree", env=env).stdout.decode().strip()


def _stage(repository: Repository, env: dict[str, str]) -> None:
    user = read_user_settings(repository)
    args = (*_LIST, f"--exclude={VIEW}/")
    listed = run_git(repository, *args, env=env, settings=user, timeout_seconds=LONG_SECONDS).stdout
    paths = tuple(dict.fromkeys(os.fsdecode(name) for name in listed.split(b"\0") if name))
    # A directory is a repository inside this one; its files are not part of the project.
    files = tuple(path for path in paths if not _is_directory(repository.work_tree / path))
    if files:
        settings = user | build_filter_settings(repository, files, env)
        update = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
        stdin = encode_names(files)
        run_git(repository, *update, stdin=stdin, env=env, settings=settings, timeout_seconds=LONG_SECONDS)


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_own_file(line: str) -> bool:
    return line.startswith("?? ") and Path(line[3:]).name == PROJECT_FILE
