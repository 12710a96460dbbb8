"""Pushes a task's branch: never over commits of others, never to a shared branch."""

from __future__ import annotations

import os
import re

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.publish.merge import is_ancestor
from ostler.git.publish.remote import Remote, strip_login
from ostler.git.publish.transport import classify_remote_failure, find_remote_error_line, run_remote_command
from ostler.git.refs import has_commit, resolve_commit
from ostler.git.repository import Worktree
from ostler.git.run.command import run_git
from ostler.lazy import lazy_pattern

_SHARED_BRANCHES = lazy_pattern(r"(main|master|develop|release)|release[/\-_.].*", re.IGNORECASE)
_REMOTE_MOVED = lazy_pattern(
    r"non-fast-forward|fetch first|stale info|cannot lock ref|failed to (lock|update ref)", re.IGNORECASE
)


class PushResult(Struct, frozen=True):
    """The state of the branch on the remote."""

    commit: str
    adopted: bool = False  # the remote had it already
    forced: bool = False  # an older commit of this task was replaced
    note: str = ""


class RemoteMoved(Exception):
    """The ref at the remote moved between the check and the push."""


def require_task_branch(branch: str, target: str) -> None:
    """Raise unless a task may push to this branch."""
    if branch != target and not _SHARED_BRANCHES.fullmatch(branch):
        return
    message = f"a task does not push to the shared branch {branch}"
    raise GitError(
        Code.PUSH_REJECTED, message, "set git.branch_prefix, so that tasks have their own branches"
    )


def read_remote_branches(worktree: Worktree, remote: Remote, *branches: str) -> dict[str, str]:
    """Return the commits of those of these branches that exist on the remote."""
    refs = [f"refs/heads/{branch}" for branch in branches]
    output = os.fsdecode(
        run_remote_command(worktree.repository, remote, "ls-remote", "--heads", remote.name, *refs).stdout
    )
    found = (line.partition("\t") for line in output.splitlines())
    heads = {name: commit for commit, _, name in found}
    return {branch: heads[ref] for branch, ref in zip(branches, refs, strict=True) if ref in heads}


def fetch_commit(worktree: Worktree, remote: Remote, branch: str, commit: str) -> None:
    """Fetch a commit of a remote branch; no local or remote-tracking branch moves."""
    if has_commit(worktree.repository, commit):
        return
    flags = (
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--no-recurse-submodules",
    )
    known_commits = (worktree.base, resolve_commit(worktree.repository, worktree.ref) or worktree.base)
    ref = f"refs/heads/{branch}"
    run_remote_command(
        worktree.repository, remote, "fetch", *flags, remote.name, ref, known_commits=known_commits
    )
    if not has_commit(worktree.repository, commit):
        message = f"{branch} on {remote.name} was rewritten while it was fetched"
        raise GitError(Code.PUBLISH_FAILED, message, "try again")


def push_branch(worktree: Worktree, remote: Remote, target: str) -> PushResult:
    """Push the branch; a second push changes nothing. Checks again once if the remote branch moved."""
    require_task_branch(worktree.branch, target)
    remote = remote.destination
    try:
        return _push(worktree, remote)
    except RemoteMoved:
        pass
    try:
        return _push(worktree, remote)
    except RemoteMoved as again:
        message = f"{remote.name} rejected {worktree.branch}: {again}"
        raise GitError(Code.PUSH_REJECTED, message, "the branch is kept here; try again later") from again


def _push(worktree: Worktree, remote: Remote) -> PushResult:
    tip = resolve_commit(worktree.repository, worktree.ref)
    remote_tip = read_remote_branches(worktree, remote, worktree.branch).get(worktree.branch, "")
    if remote_tip == tip:
        return PushResult(tip, adopted=True)
    if not remote_tip:
        return _push_commit(worktree, remote, tip, ())
    fetch_commit(worktree, remote, worktree.branch, remote_tip)
    if is_ancestor(worktree.repository, remote_tip, tip):
        return _push_commit(worktree, remote, tip, ())
    if is_ancestor(worktree.repository, tip, remote_tip):
        note = f"{worktree.branch} on {remote.name} has additional commits; they are kept"
        return PushResult(remote_tip, adopted=True, note=note)
    if remote_tip not in _list_own_tips(worktree):
        raise _create_foreign_commits_error(worktree, remote)
    return _push_commit(worktree, remote, tip, (f"--force-with-lease={worktree.ref}:{remote_tip}",))


def _push_commit(worktree: Worktree, remote: Remote, tip: str, force: tuple[str, ...]) -> PushResult:
    args = ("push", "--porcelain", "--no-verify", *force, remote.name, f"{tip}:{worktree.ref}")
    done = run_remote_command(worktree.repository, remote, *args, accept=(0, 1, 128))
    if done.status == 0:
        return PushResult(tip, forced=bool(force))
    raise create_push_error(remote, worktree.branch, os.fsdecode(done.stdout), done.stderr)


def create_push_error(remote: Remote, branch: str, output: str, stderr: bytes) -> Exception:
    """Return the error for a failed push: RemoteMoved if the ref has another commit than expected."""
    fields = next((line.split("\t") for line in output.splitlines() if line.startswith("!\t")), None)
    if fields is None:
        return classify_remote_failure(remote.name, stderr)
    reason = fields[-1].partition("(")[2].removesuffix(")") or fields[-1]
    if _REMOTE_MOVED.search(reason):
        return RemoteMoved(reason)
    detail = find_remote_error_line(strip_login(os.fsdecode(stderr)))
    message = f"{remote.name} rejected {branch}: {reason}" + (f" ({detail})" if detail else "")
    large = f"run git lfs push {remote.name} {branch}"
    rules = f"check the branch rules of {remote.name}; the branch is kept"
    return GitError(Code.PUSH_REJECTED, message, large if "lfs" in detail.lower() else rules)


def _list_own_tips(worktree: Worktree) -> set[str]:
    """Return every earlier commit of the local branch; replacing one removes nothing of others."""
    args = ("rev-list", "--walk-reflogs", worktree.ref, "--")
    return set(run_git(worktree.repository, *args, accept=(0, 128)).stdout.decode().split())


def _create_foreign_commits_error(worktree: Worktree, remote: Remote) -> GitError:
    branch = worktree.branch
    message = f"{branch} on {remote.name} has commits of others; they were not overwritten"
    return GitError(
        Code.PUSH_REJECTED, message, f"see them with git fetch {remote.name} {branch} && git log FETCH_HEAD"
    )
