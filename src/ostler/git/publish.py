"""Publishing a task's branch, told once: look, carry onto the target, push, propose; or merge it here.

Called again after a kill between any two steps it ends the same: every step looks before it acts.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.files.failpoint import reach
from ostler.git import lock
from ostler.git.failure import with_git_errors
from ostler.git.github import (
    PullRequest,
    create_pull_request,
    find_pull_request,
    merge_when_ready,
    repository_name,
    require_known_host,
)
from ostler.git.identity import Identity
from ostler.git.merge import commit_of, merge
from ostler.git.proposal import Proposal
from ostler.git.push import fetch, look, push, refuse_shared
from ostler.git.rebase import Synced, sync
from ostler.git.refs import check_ref
from ostler.git.registration import require
from ostler.git.remote import Remote, find_remote
from ostler.git.repository import Worktree
from ostler.git.snapshot import tree_of
from ostler.git.transport import effective_url


class Result(StrEnum):
    """What a task's work became."""

    NOTHING = "nothing"  # no file differs from the target
    BRANCH = "branch"  # there is no remote: the branch here is the result
    PULL_REQUEST = "pull_request"
    MERGED = "merged"


class Published(Struct, frozen=True):
    """What publishing did, for the task's record."""

    result: Result
    commit: str  # the branch's tip, after it was carried onto its target
    base: str  # the commit that the work starts from now
    pr_url: str | None = None
    adopted: bool = False  # it was there already: made before a crash
    notes: tuple[str, ...] = ()


@with_git_errors
def publish_pull_request(worktree: Worktree, target: str, proposal: Proposal, who: Identity) -> Published:
    """Push the branch and have one pull request for it, made or found."""
    require(worktree)
    refuse_shared(worktree.branch, _check_target(target))
    remote = find_remote(worktree.repository, target)
    with lock.hold(worktree.repository.git_dir) as held:
        if remote is None:
            return _keep_here(worktree, target, who, held)
        return _propose(worktree, target, remote, proposal, who, held)


@with_git_errors
def publish_merge(worktree: Worktree, target: str, who: Identity, message: str) -> Published:
    """Merge the branch into the local target branch; nothing is pushed, and no checkout is touched."""
    require(worktree)
    refuse_shared(worktree.branch, _check_target(target))
    with lock.hold(worktree.repository.git_dir) as held:
        if nothing := _nothing(worktree, target, _as_it_is(worktree)):
            return nothing
        synced = _sync_here(worktree, target, who, held)
        reach("publish.rebased")
        merged = merge(worktree.repository, worktree.branch, target, who, message)
        reach("publish.merged")
        notes = (f"merged into {target} on this machine; nothing was pushed",)
        return Published(Result.MERGED, synced.tip, synced.base, adopted=merged.adopted, notes=notes)


def _propose(
    worktree: Worktree, target: str, remote: Remote, proposal: Proposal, who: Identity, held: int
) -> Published:
    repository = _on_github(worktree, remote)
    before = _as_it_is(worktree)
    found = find_pull_request(repository, worktree.branch, before.tip)
    if found is not None and found.is_merged:
        return _published(before, found, ("merged on GitHub",), adopted=True)
    synced = _sync_there(worktree, target, remote, who, held)
    reach("publish.rebased")
    if nothing := _nothing(worktree, target, synced):
        return nothing
    pushed = push(worktree, remote, target)
    reach("publish.pushed")
    request = found or create_pull_request(repository, worktree.branch, target, proposal)
    reach("publish.created")
    notes = (pushed.note, request.note, merge_when_ready(request) if proposal.auto_merge else "")
    return _published(synced, request, notes, adopted=found is not None)


def _published(synced: Synced, request: PullRequest, notes: tuple[str, ...], *, adopted: bool) -> Published:
    said = tuple(note for note in notes if note)
    return Published(Result.PULL_REQUEST, synced.tip, synced.base, request.url, adopted, said)


def _keep_here(worktree: Worktree, target: str, who: Identity, held: int) -> Published:
    synced = _sync_here(worktree, target, who, held)
    reach("publish.rebased")
    note = f"there is no remote, so {worktree.branch} is the result"
    return _nothing(worktree, target, synced) or Published(
        Result.BRANCH, synced.tip, synced.base, notes=(note,)
    )


def _sync_here(worktree: Worktree, target: str, who: Identity, held: int) -> Synced:
    onto = commit_of(worktree.repository, f"refs/heads/{target}")
    if not onto:
        return _as_it_is(worktree)
    return sync(worktree, onto, target, who, (held,))


def _sync_there(worktree: Worktree, target: str, remote: Remote, who: Identity, held: int) -> Synced:
    onto = look(worktree, remote, target).get(target)
    if onto is None:
        message = f"{remote.name} has no branch {target} to ask for a pull into"
        raise GitError(Code.PUBLISH_FAILED, message, f"git push {remote.name} {target}, or set git.target")
    fetch(worktree, remote, target, onto)
    reach("publish.fetch")
    return sync(worktree, onto, target, who, (held,))


def _as_it_is(worktree: Worktree) -> Synced:
    tip = commit_of(worktree.repository, worktree.ref)
    if tip:
        return Synced(tip, worktree.base)
    message = f"the branch {worktree.branch} is gone, so there is nothing to publish"
    raise GitError(Code.WORKTREE_LOST, message, "git reflog may still show its commits")


def _nothing(worktree: Worktree, target: str, synced: Synced) -> Published | None:
    """Nothing to publish when the target has it all, or the work's files are those that it started from."""
    if synced.contained:
        note = f"{target} has all of {worktree.branch} already, so nothing was published"
    elif tree_of(worktree, synced.base) == tree_of(worktree, synced.tip):
        note = f"{worktree.branch} changes no file of {target}, so nothing was published"
    else:
        return None
    return Published(Result.NOTHING, synced.tip, synced.base, notes=(note,))


def _on_github(worktree: Worktree, remote: Remote) -> str:
    address = remote.push_url or remote.url
    name = repository_name(address) or repository_name(effective_url(worktree.repository, remote))
    if name is None:
        message = f"the remote {remote.name} is not a repository on GitHub, so there can be no pull request"
        raise GitError(Code.PUBLISH_FAILED, message, 'set git.on_complete to "merge" or "none"')
    require_known_host(name)
    return name


def _check_target(target: str) -> str:
    if target:
        return check_ref(target)
    message = "the task did not start from a branch, so there is none to publish to"
    raise GitError(Code.PUBLISH_FAILED, message, "set git.target to the name of a branch")
