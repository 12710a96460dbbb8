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
from ostler.git.merge import TargetMoved, commit_of, merge
from ostler.git.proposal import Proposal
from ostler.git.push import fetch, look, push, refuse_shared
from ostler.git.rebase import Synced, is_mere_rebase, refuse_marks, sync
from ostler.git.refs import check_ref
from ostler.git.registration import require
from ostler.git.remote import Remote, Route, find_remote, find_route
from ostler.git.repository import Worktree
from ostler.git.secrets import refuse_secrets
from ostler.git.snapshot import tree_of
from ostler.git.transport import effective_url


class Result(StrEnum):
    """What a task's work became."""

    NOTHING = "nothing"  # no file differs from the target
    REBASED = "rebased"  # its target moved, and nobody has judged what it became: not published
    BRANCH = "branch"  # there is no remote: the branch here is the result
    PULL_REQUEST = "pull_request"
    MERGED = "merged"


class Terms(Struct, frozen=True):
    """What publishing has to keep to."""

    judged: str | None = None  # the only commit that may be published; null: whatever the work becomes
    remotes: tuple[Remote, ...] | None = None  # as they were when the task began; null: not known
    fork: str = ""  # the remote that the branch is pushed to, where it is not the target's
    allow_secrets: bool = False


class Published(Struct, frozen=True):
    """What publishing did, for the task's record."""

    result: Result
    commit: str  # the branch's tip, after it was carried onto its target
    base: str  # the commit that the work starts from now
    pr_url: str | None = None
    adopted: bool = False  # it was there already: made before a crash
    notes: tuple[str, ...] = ()
    clean: bool = True  # false: more was changed than where the work stands


ANY = Terms()


class _Work(Struct, frozen=True):
    """A task's branch in hand."""

    worktree: Worktree
    target: str
    who: Identity
    terms: Terms
    lock: int


@with_git_errors
def publish_pull_request(
    worktree: Worktree, target: str, proposal: Proposal, who: Identity, terms: Terms = ANY
) -> Published:
    """Push the branch and have one pull request for it, made or found."""
    require(worktree)
    refuse_shared(worktree.branch, _check_target(target))
    route = find_route(worktree.repository, target, terms.fork, terms.remotes)
    with lock.hold(worktree.repository.git_dir) as held:
        work = _Work(worktree, target, who, terms, held)
        return _keep_here(work) if route is None else _propose(work, route, proposal)


@with_git_errors
def publish_merge(
    worktree: Worktree, target: str, who: Identity, message: str, terms: Terms = ANY
) -> Published:
    """Merge the branch into the local target branch; nothing is pushed, and no checkout is touched."""
    require(worktree)
    refuse_shared(worktree.branch, _check_target(target))
    with lock.hold(worktree.repository.git_dir) as held:
        if nothing := _nothing(worktree, target, _as_it_is(worktree)):
            return nothing
        return _merge_here(_Work(worktree, target, who, terms, held), message)


def _merge_here(work: _Work, message: str) -> Published:
    before, synced = _as_it_is(work.worktree), _sync_here(work)
    reach("publish.rebased")
    if unseen := _unseen(work, before, synced):
        return unseen
    forward = work.terms.judged is not None
    try:
        branch = work.worktree.branch
        merged = merge(work.worktree.repository, branch, work.target, work.who, message, forward=forward)
    except TargetMoved:
        return _merge_here(work, message)  # carried onto where it is now, it is another commit
    reach("publish.merged")
    notes = (f"merged into {work.target} on this machine; nothing was pushed",)
    return Published(Result.MERGED, synced.tip, synced.base, adopted=merged.adopted, notes=notes)


def _propose(work: _Work, route: Route, proposal: Proposal) -> Published:
    worktree, target = work.worktree, work.target
    repository = _on_github(worktree, route.target)
    fork = _fork_owner(worktree, route, repository)
    before = _as_it_is(worktree)
    found = find_pull_request(repository, worktree.branch, before.tip, fork)
    if found is not None and found.is_merged:
        return _published(before, found, ("merged on GitHub",), adopted=True)
    synced = _sync_there(work, route.target)
    reach("publish.rebased")
    if stopped := _nothing(worktree, target, synced) or _unseen(work, before, synced):
        return stopped
    if not work.terms.allow_secrets:
        refuse_secrets(worktree.repository, synced.base, synced.tip)
    pushed = push(worktree, route.push, target)
    reach("publish.pushed")
    request = found or create_pull_request(repository, worktree.branch, target, proposal, fork)
    reach("publish.created")
    said = merge_when_ready(request) if proposal.auto_merge else ""
    return _published(
        synced, request, (*route.notes, pushed.note, request.note, said), adopted=found is not None
    )


def _unseen(work: _Work, before: Synced, synced: Synced) -> Published | None:
    """The work as it is now, when it is not the commit that its gates have seen."""
    refuse_marks(work.worktree, synced, work.target)
    seen = work.terms.judged
    if seen is None or seen == synced.tip:
        return None
    clean = before.tip == seen or is_mere_rebase(work.worktree, seen, synced.tip, synced.base, work.who)
    return Published(Result.REBASED, synced.tip, synced.base, clean=clean)


def _published(synced: Synced, request: PullRequest, notes: tuple[str, ...], *, adopted: bool) -> Published:
    said = tuple(note for note in notes if note)
    return Published(Result.PULL_REQUEST, synced.tip, synced.base, request.url, adopted, said)


def _keep_here(work: _Work) -> Published:
    worktree, target = work.worktree, work.target
    before, synced = _as_it_is(worktree), _sync_here(work)
    reach("publish.rebased")
    if stopped := _nothing(worktree, target, synced) or _unseen(work, before, synced):
        return stopped
    why = "there was no remote when the task began" if _has_remote(work) else "there is no remote"
    note = f"{why}, so {worktree.branch} is the result"
    return Published(Result.BRANCH, synced.tip, synced.base, notes=(note,))


def _has_remote(work: _Work) -> bool:
    return find_remote(work.worktree.repository, work.target) is not None


def _sync_here(work: _Work) -> Synced:
    onto = commit_of(work.worktree.repository, f"refs/heads/{work.target}")
    if not onto:
        return _as_it_is(work.worktree)
    return sync(work.worktree, onto, work.target, work.who, (work.lock,))


def _sync_there(work: _Work, remote: Remote) -> Synced:
    worktree, target = work.worktree, work.target
    onto = look(worktree, remote, target).get(target)
    if onto is None:
        message = f"{remote.name} has no branch {target} to ask for a pull into"
        raise GitError(Code.PUBLISH_FAILED, message, f"git push {remote.name} {target}, or set git.target")
    fetch(worktree, remote, target, onto)
    reach("publish.fetch")
    return sync(worktree, onto, target, work.who, (work.lock,))


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


def _fork_owner(worktree: Worktree, route: Route, repository: str) -> str:
    """Who owns the repository that the branch is pushed to; empty when it is the target's own."""
    if route.push == route.target.destination:
        return ""
    name = _on_github(worktree, route.push)
    return "" if name == repository else name.split("/")[-2]


def _check_target(target: str) -> str:
    if target:
        return check_ref(target)
    message = "the task did not start from a branch, so there is none to publish to"
    raise GitError(Code.PUBLISH_FAILED, message, "set git.target to the name of a branch")
