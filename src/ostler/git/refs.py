"""Names of branches and commits, checked before git sees them."""

from __future__ import annotations

import os
import re

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.command import ask, run
from ostler.git.failure import explain
from ostler.git.repository import Repository

_LONGEST_PART = 240  # a file name's 255 bytes, less what git appends to it
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


class Base(Struct, frozen=True):
    """What a task's branch starts from."""

    commit: str
    branch: str | None = None  # null: a commit that no branch name led to


def is_branch_name(name: str) -> bool:
    """Whether git would take it as a branch, by the rules of git check-ref-format."""
    parts = name.split("/")
    whole = not (name in ("", "@", "HEAD") or name.startswith("-") or name.endswith((".", "/")))
    return whole and _FORBIDDEN.search(name) is None and all(_is_part(part) for part in parts)


def _is_part(part: str) -> bool:
    try:
        size = len(part.encode())
    except UnicodeEncodeError:
        return False
    return 0 < size <= _LONGEST_PART and not part.startswith(".") and not part.endswith(".lock")


def check_ref(name: str) -> str:
    """The same name, or a GitError when it cannot be a branch."""
    if is_branch_name(name):
        return name
    raise GitError(Code.USAGE, f"{name!r} cannot be the name of a branch", "see git help check-ref-format")


def find_base(repository: Repository, target: str = "") -> Base:
    """Where work starts: the target if one is set, else the branch checked out, else its commit."""
    if target:
        return _named(repository, check_ref(target))
    names = ("HEAD^{commit}", "--symbolic-full-name", "HEAD")
    finished = run(repository, "rev-parse", *names, accept=(0, 128))
    if finished.status != 0:
        raise _no_head(repository, finished.stderr)
    commit, name = os.fsdecode(finished.stdout).split("\n")[:2]
    return Base(commit, name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None)


def _named(repository: Repository, target: str) -> Base:
    branch = _commit(repository, f"refs/heads/{target}")
    if commit := branch or _commit(repository, target):
        return Base(commit, target if branch else None)
    if not ask(repository, "for-each-ref", "--count=1"):
        raise _no_commits(repository)
    message = f"git.target is {target!r}, which {repository.work_tree} does not have"
    raise GitError(Code.USAGE, message, "git branch --all lists what it has")


def _commit(repository: Repository, name: str) -> str:
    return ask(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")


def _no_head(repository: Repository, stderr: bytes) -> GitError:
    unborn = b"unknown revision" in stderr
    return _no_commits(repository) if unborn else explain(("rev-parse",), stderr, repository.work_tree)


def _no_commits(repository: Repository) -> GitError:
    message = f"{repository.work_tree} has no commit yet, so there is nothing to branch from"
    return GitError(Code.GIT_NO_COMMITS, message, 'git commit --allow-empty -m "first commit"')
