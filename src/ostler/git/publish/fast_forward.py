"""Fast-forwards a branch that is checked out, only if no file of the user can be lost."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

from ostler.errors import Code, GitError
from ostler.files.failpoint import reach
from ostler.git.commit.index import index_environment
from ostler.git.commit.uncommitted import list_uncommitted
from ostler.git.discovery import discover_repository
from ostler.git.identity import Identity
from ostler.git.kept import keep_previous_tip
from ostler.git.names import format_files
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, encode_names, query_git, run_git
from ostler.git.run.failure import classify_failure
from ostler.git.user_settings import read_user_settings

_OPERATIONS = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisect",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "sequencer": "a cherry-pick or revert",
}
_GITLINK = "160000"


class CheckedOutTarget(GitError):
    """The target is checked out and was not changed; a person merges with `command`."""

    def __init__(self, target: str, checkout: str, branch: str, reason: str) -> None:
        # Without the option git replaces ignored files of the user.
        command = f"git -C {shlex.quote(checkout)} merge --no-overwrite-ignore {branch}"
        message = f"branch {target} is checked out in {checkout} and was not changed, because {reason}"
        super().__init__(Code.PUBLISH_FAILED, message, command)
        self.command = command
        self.reason = reason


class _Refused(Exception):
    """The checkout must not be changed; the text says why."""


def fast_forward_checkout(
    task_repository: Repository,
    checkout: str,
    branch: str,
    target: str,
    commits: tuple[str, str],
    identity: Identity,
) -> None:
    """Move the checked-out target and its files from the first commit to the second.

    Raises CheckedOutTarget and changes nothing unless the checkout is clean and the files of the commit
    can neither replace a file of the user nor need a program to be written.
    """
    try:
        repository = _discover_checkout(task_repository, checkout)
        settings = read_user_settings(repository)
        for check in _CHECKS:
            check(repository, commits, settings)
        keep_previous_tip(repository, target, branch, commits[0])
        reach("merge.checked")
        _fast_forward(repository, target, commits[1], settings, identity)
    except _Refused as reason:
        raise CheckedOutTarget(target, checkout, branch, str(reason)) from None


def _discover_checkout(task_repository: Repository, checkout: str) -> Repository:
    try:
        found = discover_repository(Path(checkout))
    except GitError as error:
        raise _Refused(f"git cannot use it: {error.message}") from None
    if found is None or found.work_tree != Path(checkout) or not _is_same(found, task_repository):
        raise _Refused("its directory is not a checkout any more")
    return found


def _is_same(one: Repository, other: Repository) -> bool:
    return os.path.realpath(one.common_dir) == os.path.realpath(other.common_dir)


def _fast_forward(
    repository: Repository, target: str, commit: str, settings: dict[str, str], identity: Identity
) -> None:
    if query_git(repository, "symbolic-ref", "--quiet", "HEAD") != f"refs/heads/{target}":
        raise _Refused("another branch was checked out meanwhile")
    # A plain --ff-only replaces ignored files of the user.
    options = ("--ff-only", "--no-overwrite-ignore", "--no-autostash", "--no-verify", "--no-stat", "--quiet")
    done = run_git(
        repository,
        *("merge", *options, commit),
        env=identity.environment(),
        settings=settings,
        accept=(0, 1, 2, 128),
        timeout_seconds=LONG_SECONDS,
    )
    if done.status != 0:
        error = classify_failure(("merge",), done.stderr, repository.work_tree)
        raise _Refused(f"git refused: {error.message}")


def _require_no_operation(repository: Repository, commits: tuple[str, str], settings: dict[str, str]) -> None:
    for name, operation in _OPERATIONS.items():
        if os.path.lexists(repository.git_dir / name):
            raise _Refused(f"{operation} is in progress there")


def _require_clean(repository: Repository, commits: tuple[str, str], settings: dict[str, str]) -> None:
    changed = list_uncommitted(repository)
    if changed:
        raise _Refused(f"it has uncommitted changes ({format_files(changed, 3)})")


def _require_no_submodules(
    repository: Repository, commits: tuple[str, str], settings: dict[str, str]
) -> None:
    for commit in commits:
        entries = run_git(repository, "ls-tree", "-r", "-z", commit, timeout_seconds=LONG_SECONDS).stdout
        if any(entry.startswith(_GITLINK.encode()) for entry in entries.split(b"\0")):
            raise _Refused("the project has submodules")


def _require_no_filters(repository: Repository, commits: tuple[str, str], settings: dict[str, str]) -> None:
    """Refuse files under a filter such as LFS: Ostler runs no filters, so their content would be wrong."""
    changed = _list_changed(repository, commits)
    if not changed:
        return
    index = repository.git_dir / f"ostler-attributes-{os.getpid()}"
    try:
        for commit in commits:
            run_git(repository, "read-tree", commit, env=index_environment(index))
            _require_no_filter_attribute(repository, changed, index)
    finally:
        index.unlink(missing_ok=True)


def _require_no_filter_attribute(repository: Repository, paths: tuple[str, ...], index: Path) -> None:
    args = ("check-attr", "--cached", "-z", "--stdin", "filter")
    output = os.fsdecode(
        run_git(repository, *args, stdin=encode_names(paths), env=index_environment(index)).stdout
    ).split("\0")
    for path, value in zip(output[::3], output[2::3], strict=False):
        if value not in ("unspecified", "unset"):
            raise _Refused(f"{path} needs the filter {value}, which Ostler does not run")


def _require_no_ignored(repository: Repository, commits: tuple[str, str], settings: dict[str, str]) -> None:
    added = _list_changed(repository, commits, "--diff-filter=A")
    if not added:
        return
    args = ("check-ignore", "--no-index", "-z", "--stdin")
    found = run_git(repository, *args, stdin=encode_names(added), settings=settings, accept=(0, 1)).stdout
    ignored = [path for path in os.fsdecode(found).split("\0") if path]
    if ignored:
        raise _Refused(f"the commit adds {format_files(ignored, 3)}, which is ignored there")


def _list_changed(repository: Repository, commits: tuple[str, str], *options: str) -> tuple[str, ...]:
    args = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", *options)
    output = run_git(repository, *args, *commits, "--", timeout_seconds=LONG_SECONDS).stdout
    return tuple(path for path in os.fsdecode(output).split("\0") if path)


_CHECKS: tuple[Callable[[Repository, tuple[str, str], dict[str, str]], None], ...] = (
    _require_no_operation,
    _require_no_submodules,
    _require_clean,
    _require_no_filters,
    _require_no_ignored,
)
