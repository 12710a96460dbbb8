"""Finds the repository that a project is in, without running anything of it."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.errors import Code, GitError
from ostler.git.failure import explain
from ostler.git.program import execute, settings_environment, users_environment
from ostler.git.repository import Repository
from ostler.git.shield import FIXED

_WHERE = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-prefix")


def discover(path: Path) -> Repository | None:
    """The repository around a directory; None when it is not a git directory."""
    args = ("rev-parse", "--path-format=absolute", *_WHERE)
    # The user's configuration is read here and only here for safe.directory; rev-parse runs nothing.
    finished = execute(args, users_environment() | settings_environment(FIXED), path)
    if finished.status == 0:
        return _repository(path, os.fsdecode(finished.stdout))
    said = os.fsdecode(finished.stderr)
    if "(or any" in said:
        return _refuse_damaged(path)
    if "bare repository" in said or "must be run in a work tree" in said:
        message = f"{path} is in a bare repository, which has no files to work on"
        raise GitError(Code.USAGE, message, "use Ostler in a clone, or in a worktree made from it")
    raise explain(args, finished.stderr, path)


def _repository(path: Path, answer: str) -> Repository:
    lines = answer.split("\n")[:-1]
    if len(lines) != len(_WHERE):
        raise GitError(Code.USAGE, f"{str(path)!r} has a line break in its name", "rename the directory")
    work_tree, git_dir, common_dir, prefix = lines
    return Repository(Path(work_tree), Path(git_dir), Path(common_dir), prefix.rstrip("/"))


def _refuse_damaged(path: Path) -> None:
    """Git saw no repository; a .git with something in it says that there was one."""
    for directory in (path, *path.absolute().parents):
        mark = directory / ".git"
        if mark.is_file() or (mark / "objects").is_dir():
            message = f"{mark} is there, but git cannot read it"
            raise GitError(Code.GIT_CORRUPT, message, "restore it, or move it away")
