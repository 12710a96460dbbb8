"""Pushing a task's branch: never over anybody else's commits, never to a branch that people share."""

from __future__ import annotations

import os
import re

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.command import run
from ostler.git.merge import commit_of, is_ancestor
from ostler.git.remote import Remote, without_login
from ostler.git.repository import Worktree
from ostler.git.transport import talk
from ostler.git.transport_failure import explain_remote, telling_line

_SHARED = re.compile(r"(main|master|develop|release)|release[/\-_.].*", re.IGNORECASE)
_OUTDATED = re.compile(
    r"non-fast-forward|fetch first|stale info|cannot lock ref|failed to (lock|update ref)", re.IGNORECASE
)


class Pushed(Struct, frozen=True):
    """What the remote has of the branch now."""

    commit: str
    adopted: bool = False  # it was there already
    forced: bool = False  # an older state of our own was replaced
    note: str = ""


class _Outdated(Exception):
    """The remote's branch moved between our look and our push."""


def refuse_shared(branch: str, target: str) -> None:
    """Raise unless this is a branch that a task may push to."""
    if branch != target and not _SHARED.fullmatch(branch):
        return
    message = f"a task does not push to {branch}, which people share"
    raise GitError(
        Code.PUSH_REJECTED, message, "set git.branch_prefix, so that tasks have branches of their own"
    )


def look(worktree: Worktree, remote: Remote, *branches: str) -> dict[str, str]:
    """The commit of each of these branches that the remote has."""
    refs = [f"refs/heads/{branch}" for branch in branches]
    answer = os.fsdecode(talk(worktree.repository, remote, "ls-remote", "--heads", remote.name, *refs).stdout)
    found = (line.partition("\t") for line in answer.splitlines())
    heads = {name: commit for commit, _, name in found}
    return {branch: heads[ref] for branch, ref in zip(branches, refs, strict=True) if ref in heads}


def fetch(worktree: Worktree, remote: Remote, branch: str, commit: str) -> None:
    """Bring a commit of the remote's here; no branch and no remote-tracking branch moves."""
    if _has(worktree, commit):
        return
    flags = (
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--no-recurse-submodules",
    )
    known = (worktree.base, commit_of(worktree.repository, worktree.ref) or worktree.base)
    ref = f"refs/heads/{branch}"
    talk(worktree.repository, remote, "fetch", *flags, remote.name, ref, known=known)
    if not _has(worktree, commit):
        message = f"{branch} on {remote.name} was rewritten while it was fetched"
        raise GitError(Code.PUBLISH_FAILED, message, "try again")


def push(worktree: Worktree, remote: Remote, target: str) -> Pushed:
    """Let the remote have the branch; pushed twice it is the same; looks again once if outrun."""
    refuse_shared(worktree.branch, target)
    remote = remote.destination
    try:
        return _push(worktree, remote)
    except _Outdated:
        pass
    try:
        return _push(worktree, remote)
    except _Outdated as again:
        message = f"{remote.name} refused {worktree.branch}: {again}"
        raise GitError(Code.PUSH_REJECTED, message, "the branch is kept here; try again later") from again


def _push(worktree: Worktree, remote: Remote) -> Pushed:
    tip = commit_of(worktree.repository, worktree.ref)
    there = look(worktree, remote, worktree.branch).get(worktree.branch, "")
    if there == tip:
        return Pushed(tip, adopted=True)
    if not there:
        return _send(worktree, remote, tip, ())
    fetch(worktree, remote, worktree.branch, there)
    if is_ancestor(worktree.repository, there, tip):
        return _send(worktree, remote, tip, ())
    if is_ancestor(worktree.repository, tip, there):
        note = f"{worktree.branch} on {remote.name} has commits on top of the task's; they stay"
        return Pushed(there, adopted=True, note=note)
    if there not in _own_tips(worktree):
        raise _foreign(worktree, remote)
    return _send(worktree, remote, tip, (f"--force-with-lease={worktree.ref}:{there}",))


def _send(worktree: Worktree, remote: Remote, tip: str, force: tuple[str, ...]) -> Pushed:
    args = ("push", "--porcelain", "--no-verify", *force, remote.name, f"{tip}:{worktree.ref}")
    done = talk(worktree.repository, remote, *args, accept=(0, 1, 128))
    if done.status == 0:
        return Pushed(tip, forced=bool(force))
    raise _refused(worktree, remote, os.fsdecode(done.stdout), done.stderr)


def _refused(worktree: Worktree, remote: Remote, told: str, stderr: bytes) -> Exception:
    fields = next((line.split("\t") for line in told.splitlines() if line.startswith("!\t")), None)
    if fields is None:
        return explain_remote(remote.name, stderr)
    reason = fields[-1].partition("(")[2].removesuffix(")") or fields[-1]
    if _OUTDATED.search(reason):
        return _Outdated(reason)
    said = telling_line(without_login(os.fsdecode(stderr)))
    message = f"{remote.name} refused {worktree.branch}: {reason}" + (f" ({said})" if said else "")
    large = f"git lfs push {remote.name} {worktree.branch}"
    rules = f"see the rules for branches of {remote.name}; the work is kept"
    return GitError(Code.PUSH_REJECTED, message, large if "lfs" in said.lower() else rules)


def _own_tips(worktree: Worktree) -> set[str]:
    """Every commit that the branch has been at here: to replace one takes nothing from anybody else."""
    args = ("rev-list", "--walk-reflogs", worktree.ref, "--")
    return set(run(worktree.repository, *args, accept=(0, 128)).stdout.decode().split())


def _has(worktree: Worktree, commit: str) -> bool:
    return run(worktree.repository, "cat-file", "-e", f"{commit}^{{commit}}", accept=(0, 1, 128)).status == 0


def _foreign(worktree: Worktree, remote: Remote) -> GitError:
    branch = worktree.branch
    message = f"{branch} on {remote.name} has commits that are not this task's; they were not overwritten"
    return GitError(
        Code.PUSH_REJECTED, message, f"git fetch {remote.name} {branch} && git log FETCH_HEAD shows them"
    )
