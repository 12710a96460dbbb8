"""Branch names and base commits."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.ref_files import read_attached_branch, read_loose_tree, read_ref
from ostler.git.repository import Repository
from ostler.git.run.command import query_git, run_git
from ostler.git.run.failure import classify_failure

_MAX_PART_BYTES = 240  # 255 bytes of a file name minus what git appends
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")

_COMPLETE = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MAX_TREES = 256
_trees: dict[tuple[str, str], str] = {}  # by the directory of the repository and the commit


class Base(Struct, frozen=True):
    """The commit and the branch that a task starts from."""

    commit: str
    branch: str | None = None  # None: not a branch


def is_branch_name(name: str) -> bool:
    """Return whether git accepts the name as a branch, by the rules of git check-ref-format."""
    parts = name.split("/")
    has_valid_ends = not (name in ("", "@", "HEAD") or name.startswith("-") or name.endswith((".", "/")))
    return has_valid_ends and _FORBIDDEN.search(name) is None and all(_is_valid_part(part) for part in parts)


def _is_valid_part(part: str) -> bool:
    try:
        size = len(part.encode())
    except UnicodeEncodeError:
        return False
    return 0 < size <= _MAX_PART_BYTES and not part.startswith(".") and not part.endswith(".lock")


def check_branch_name(name: str) -> str:
    """Return the name, or raise GitError if it is not a valid branch name."""
    if is_branch_name(name):
        return name
    raise GitError(Code.USAGE, f"{name!r} is not a valid branch name", "see git help check-ref-format")


def find_base(repository: Repository, target: str = "") -> Base:
    """Return the target if one is set, else the checked-out branch or commit."""
    if target:
        return _resolve_target(repository, check_branch_name(target))
    if (base := _read_known_base(repository)) is not None:
        return base
    names = ("HEAD^{commit}", "HEAD^{tree}", "--symbolic-full-name", "HEAD")
    finished = run_git(repository, "rev-parse", *names, accept=(0, 128))
    if finished.status != 0:
        raise _create_head_error(repository, finished.stderr)
    commit, tree, name = os.fsdecode(finished.stdout).split("\n")[:3]
    _remember_tree(repository, commit, tree)
    return Base(commit, name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None)


def _read_known_base(repository: Repository) -> Base | None:
    """Return the checked-out branch without git; None if only git can tell."""
    branch = read_attached_branch(repository)
    tip = read_ref(repository, branch) if branch and branch.startswith("refs/heads/") else None
    if not branch or not tip or not _find_known_tree(repository, tip):
        return None
    return Base(tip, branch.removeprefix("refs/heads/"))


def _resolve_target(repository: Repository, target: str) -> Base:
    branch = resolve_commit(repository, f"refs/heads/{target}")
    if commit := branch or resolve_commit(repository, target):
        return Base(commit, target if branch else None)
    if not query_git(repository, "for-each-ref", "--count=1"):
        raise _create_no_commits_error(repository)
    message = f"there is no branch or commit {target!r} in {repository.work_tree}"
    raise GitError(Code.USAGE, message, "list the branches with git branch --all")


def resolve_commit(repository: Repository, name: str) -> str:
    """Return the commit that a name refers to, or an empty string."""
    return query_git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")


def resolve_tree(repository: Repository, commit: str) -> str:
    """Return the tree of a commit; that of a complete name is looked up once."""
    if tree := _find_known_tree(repository, commit):
        return tree
    args = ("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")
    tree = run_git(repository, *args).stdout.decode().strip()
    if _COMPLETE.fullmatch(commit):
        _remember_tree(repository, commit, tree)
    return tree


def _find_known_tree(repository: Repository, commit: str) -> str:
    """Return the tree of a commit that was looked up before or has a file of its own, else nothing."""
    known = _trees.get((str(repository.common_dir), commit), "")
    if not known and _COMPLETE.fullmatch(commit) and (known := read_loose_tree(repository, commit)):
        _remember_tree(repository, commit, known)
    return known


def _remember_tree(repository: Repository, commit: str, tree: str) -> None:
    """Keep the tree of a commit, which never changes."""
    while len(_trees) >= _MAX_TREES:
        _trees.pop(next(iter(_trees)), None)
    _trees[str(repository.common_dir), commit] = tree


def find_tip(repository: Repository, branch: str) -> str:
    """Return the commit of a branch; empty if there is none."""
    ref = f"refs/heads/{branch}"
    tip = read_ref(repository, ref)
    return tip if tip and read_loose_tree(repository, tip) else resolve_commit(repository, ref)


def find_checkout(repository: Repository, branch: str) -> Path | None:
    """Return the work tree that has the branch checked out."""
    path = query_git(repository, "for-each-ref", "--format=%(worktreepath)", f"refs/heads/{branch}")
    return Path(path) if path else None


def has_commit(repository: Repository, commit: str) -> bool:
    """Return whether the repository has this commit."""
    check = ("cat-file", "-e", f"{commit}^{{commit}}")
    return run_git(repository, *check, accept=(0, 1, 128)).status == 0


def has_object(repository: Repository, name: str) -> bool:
    """Return whether the repository has this commit, tree or blob."""
    return run_git(repository, "cat-file", "-e", name, accept=(0, 1, 128)).status == 0


def restore_branch(repository: Repository, branch: str, commit: str) -> None:
    """Create the branch at a commit unless it exists: a person may have deleted it."""
    ref = f"refs/heads/{check_branch_name(branch)}"
    if not resolve_commit(repository, ref) and has_commit(repository, commit):
        run_git(repository, "update-ref", "-m", "ostler: restored", ref, commit, "0" * len(commit))


def _create_head_error(repository: Repository, stderr: bytes) -> GitError:
    unborn = b"unknown revision" in stderr
    return (
        _create_no_commits_error(repository)
        if unborn
        else classify_failure(("rev-parse",), stderr, repository.work_tree)
    )


def _create_no_commits_error(repository: Repository) -> GitError:
    message = f"{repository.work_tree} has no commits, so no branch can start from it"
    return GitError(Code.GIT_NO_COMMITS, message, 'git commit --allow-empty -m "first commit"')
