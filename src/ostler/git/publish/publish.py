"""Publishes a task's branch: rebase onto the target, push and create a pull request, or merge locally.

Each step checks the current state first, so that a call after a crash completes the work.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from msgspec import Struct, structs

from ostler.errors import Code, GitError
from ostler.files.failpoint import reach
from ostler.git.identity import Identity
from ostler.git.publish.github import (
    PullRequest,
    create_pull_request,
    find_pull_request,
    merge_when_ready,
    parse_repository_name,
    require_known_host,
    retarget_pull_request,
)
from ostler.git.publish.merge import TargetMoved, merge_branch
from ostler.git.publish.proposal import Proposal
from ostler.git.publish.push import fetch_commit, push_branch, read_remote_branches, require_task_branch
from ostler.git.publish.rebase import (
    Stacked,
    SyncResult,
    is_pure_rebase,
    require_no_conflict_markers,
    sync_with_target,
)
from ostler.git.publish.remote import Remote, Route, find_remote, find_route
from ostler.git.publish.secrets import require_no_secrets
from ostler.git.publish.transport import resolve_remote_url
from ostler.git.refs import check_branch_name, resolve_commit, resolve_tree
from ostler.git.repository import Worktree
from ostler.git.run import lock
from ostler.git.run.failure import with_git_errors
from ostler.git.stack import Work, is_contained
from ostler.git.worktree.registration import require_worktree


class PublishResult(StrEnum):
    """What was published."""

    NOTHING = "nothing"  # no file differs from the target
    REBASED = "rebased"  # the target moved, and the rebased commit is not approved yet: not published
    BRANCH = "branch"  # without a remote, the local branch is the result
    PULL_REQUEST = "pull_request"
    MERGED = "merged"


class PublishOptions(Struct, frozen=True):
    """Conditions for publishing."""

    approved_commit: str | None = None  # the only commit that may be published; None: any
    remotes: tuple[Remote, ...] | None = None  # at the start of the task; None: unknown
    fork: str = ""  # remote of the fork to push to; empty: the target's remote
    allow_secrets: bool = False
    works: tuple[Work, ...] = ()  # of the tasks that the branch starts from, as they are now
    stack_branch: str = ""  # branch of the only unmerged one; base of the pull request if it has one, too
    main_checkout: Path | None = None  # the user's, if its git directory is that of the repository
    after_rebase: Callable[[str], None] | None = None  # before anything is published; gets the base
    without_github: str = 'set git.on_complete to "merge" or "none"'  # the hint


class PublishOutcome(Struct, frozen=True):
    """The result of publishing."""

    result: PublishResult
    commit: str  # tip of the branch after the rebase
    base: str  # base of the branch after the rebase
    pr_url: str | None = None
    adopted: bool = False  # made before a crash
    notes: tuple[str, ...] = ()
    clean: bool = True  # False: the rebase was not the only change
    into: str = ""  # branch that has the work, or the base of its pull request


DEFAULT_OPTIONS = PublishOptions()


class _PublishJob(Struct, frozen=True):
    """The arguments of one publication."""

    worktree: Worktree
    target: str
    identity: Identity
    options: PublishOptions
    lock: int


@with_git_errors
def publish_pull_request(
    worktree: Worktree,
    target: str,
    proposal: Proposal,
    identity: Identity,
    options: PublishOptions = DEFAULT_OPTIONS,
) -> PublishOutcome:
    """Push the branch and create its pull request, or find it."""
    require_worktree(worktree)
    require_task_branch(worktree.branch, _check_target(target))
    route = find_route(worktree.repository, target, options.fork, options.remotes)
    with lock.hold_lock(worktree.repository.git_dir) as lock_fd:
        job = _PublishJob(worktree, target, identity, options, lock_fd)
        return _publish_local_branch(job) if route is None else _publish_pull_request(job, route, proposal)


@with_git_errors
def publish_merge(
    worktree: Worktree,
    target: str,
    identity: Identity,
    message: str,
    options: PublishOptions = DEFAULT_OPTIONS,
) -> PublishOutcome:
    """Merge the branch into the local target branch; nothing is pushed and no checkout changes."""
    require_worktree(worktree)
    require_task_branch(worktree.branch, _check_target(target))
    with lock.hold_lock(worktree.repository.git_dir) as lock_fd:
        if nothing := _check_for_changes(worktree, target, _read_current(worktree)):
            return nothing
        return _merge_locally(_PublishJob(worktree, target, identity, options, lock_fd), message)


@with_git_errors
def rebase_branch(
    worktree: Worktree, target: str, identity: Identity, options: PublishOptions, *, use_remote: bool
) -> PublishOutcome:
    """Rebase the branch onto its target, here or at the remote; nothing is published."""
    require_worktree(worktree)
    require_task_branch(worktree.branch, _check_target(target))
    route = find_route(worktree.repository, target, options.fork, options.remotes) if use_remote else None
    with lock.hold_lock(worktree.repository.git_dir) as lock_fd:
        job, before = _PublishJob(worktree, target, identity, options, lock_fd), _read_current(worktree)
        synced = (
            _sync_with_local_target(job) if route is None else _sync_with_remote_target(job, route.target)
        )
        reach("publish.rebased")
        if nothing := _check_for_changes(worktree, target, synced):
            return nothing
        if unapproved := _check_approved(job, before, synced):
            return unapproved
    note = f"{worktree.branch} is based on {target}; nothing was published"
    return PublishOutcome(PublishResult.NOTHING, synced.tip, synced.base, notes=(note,))


def _merge_locally(job: _PublishJob, message: str) -> PublishOutcome:
    before, synced = _read_current(job.worktree), _sync_with_local_target(job)
    reach("publish.rebased")
    if unapproved := _check_approved(job, before, synced):
        return unapproved
    marks_note = _check_secrets(job, synced, "merged")
    fast_forward_only = job.options.approved_commit is not None
    try:
        branch = job.worktree.branch
        merged = merge_branch(
            job.worktree.repository,
            branch,
            job.target,
            job.identity,
            message,
            fast_forward_only=fast_forward_only,
            main_checkout=job.options.main_checkout,
        )
    except TargetMoved:
        return _merge_locally(job, message)  # the next rebase creates another commit
    reach("publish.merged")
    notes = _list_notes(f"merged into {job.target} on this machine; nothing was pushed", marks_note)
    return PublishOutcome(
        PublishResult.MERGED, synced.tip, synced.base, adopted=merged.adopted, notes=notes, into=job.target
    )


def _publish_pull_request(job: _PublishJob, route: Route, proposal: Proposal) -> PublishOutcome:
    worktree = job.worktree
    repository = _find_github_name(job, route.target)
    fork = _find_fork_owner(job, route, repository)
    target, stack_note = _choose_pull_request_base(job, repository, fork)
    job = structs.replace(job, target=target)
    before = _read_current(worktree)
    found = find_pull_request(repository, worktree.branch, before.tip, fork)
    if found is not None and found.is_merged:
        return _create_outcome(before, found, target, ("merged on GitHub",), adopted=True)
    synced = _sync_with_remote_target(job, route.target)
    reach("publish.rebased")
    if job.options.after_rebase is not None:
        job.options.after_rebase(synced.onto or synced.base)
    if stopped := _check_for_changes(worktree, target, synced) or _check_approved(job, before, synced):
        return stopped
    marks_note = _check_secrets(job, synced, "pushed")
    pushed = push_branch(worktree, route.push, target)
    reach("publish.pushed")
    request = found or create_pull_request(repository, worktree.branch, target, proposal, fork)
    if request.base_ref_name != target and request.is_open:
        retarget_pull_request(request, target)
    reach("publish.created")
    merge_note = merge_when_ready(request) if proposal.auto_merge else ""
    notes = (*route.notes, pushed.note, request.note, merge_note, stack_note, marks_note)
    return _create_outcome(synced, request, target, notes, adopted=found is not None)


def _choose_pull_request_base(job: _PublishJob, repository: str, fork: str) -> tuple[str, str]:
    """Return the base branch and a note: the predecessor's branch while its pull request is open."""
    branch = job.options.stack_branch
    # The branch of a predecessor in a fork cannot be the base of a pull request to another repository.
    request = find_pull_request(repository, branch) if branch and not fork else None
    if request is None or not request.is_open:
        return job.target, ""
    return branch, f"stacked on {request.url}; its base becomes {job.target} when that is merged"


def _check_approved(job: _PublishJob, before: SyncResult, synced: SyncResult) -> PublishOutcome | None:
    """Return a REBASED outcome if the tip is not the approved commit."""
    require_no_conflict_markers(job.worktree, synced, job.target)
    approved = job.options.approved_commit
    if approved is None or approved == synced.tip:
        return None
    onto = synced.onto or synced.base
    clean = before.tip == approved or is_pure_rebase(
        job.worktree, approved, synced.tip, onto, job.identity, _find_stacking(job, onto)
    )
    return PublishOutcome(PublishResult.REBASED, synced.tip, synced.base, clean=clean)


def _create_outcome(
    synced: SyncResult, request: PullRequest, into: str, notes: tuple[str, ...], *, adopted: bool
) -> PublishOutcome:
    result, notes = PublishResult.PULL_REQUEST, _list_notes(*notes)
    outcome = PublishOutcome(result, synced.tip, synced.base, request.url, adopted, notes)
    return structs.replace(outcome, into=into)


def _list_notes(*notes: str) -> tuple[str, ...]:
    return tuple(note for note in notes if note)


def _check_secrets(job: _PublishJob, synced: SyncResult, done: str) -> str:
    """Raise if the commits contain likely secrets; return a note about those that are marked as allowed."""
    if job.options.allow_secrets:
        return ""
    return require_no_secrets(job.worktree.repository, synced.onto or synced.base, synced.tip, done)


def _publish_local_branch(job: _PublishJob) -> PublishOutcome:
    worktree, target = job.worktree, job.target
    before, synced = _read_current(worktree), _sync_with_local_target(job)
    reach("publish.rebased")
    if stopped := _check_for_changes(worktree, target, synced) or _check_approved(job, before, synced):
        return stopped
    cause = "there was no remote when the task started" if _has_remote(job) else "there is no remote"
    note = f"{cause}, so {worktree.branch} is the result"
    return PublishOutcome(PublishResult.BRANCH, synced.tip, synced.base, notes=(note,))


def _has_remote(job: _PublishJob) -> bool:
    return find_remote(job.worktree.repository, job.target) is not None


def _sync_with_local_target(job: _PublishJob) -> SyncResult:
    onto = resolve_commit(job.worktree.repository, f"refs/heads/{job.target}")
    if not onto:
        return _read_current(job.worktree)
    stacked = _find_stacking(job, onto)
    return sync_with_target(job.worktree, onto, job.target, job.identity, (job.lock,), stacked)


def _find_stacking(job: _PublishJob, onto: str) -> Stacked:
    """Return whether the branch starts from the work of other tasks, and whether the target has it."""
    works, repository = job.options.works, job.worktree.repository
    if not works:
        return Stacked.NO
    merged = all(is_contained(repository, work, onto) for work in works)
    return Stacked.ON_MERGED_TASK if merged else Stacked.ON_TASK


def _sync_with_remote_target(job: _PublishJob, remote: Remote) -> SyncResult:
    worktree, target = job.worktree, job.target
    onto = read_remote_branches(worktree, remote, target).get(target)
    if onto is None:
        message = f"{remote.name} has no branch {target} for the pull request"
        raise GitError(
            Code.PUBLISH_FAILED, message, f"run git push {remote.name} {target}, or set git.target"
        )
    fetch_commit(worktree, remote, target, onto)
    reach("publish.fetch")
    stacked = _find_stacking(job, onto)
    return sync_with_target(worktree, onto, target, job.identity, (job.lock,), stacked)


def _read_current(worktree: Worktree) -> SyncResult:
    tip = resolve_commit(worktree.repository, worktree.ref)
    if tip:
        return SyncResult(tip, worktree.base)
    message = f"the branch {worktree.branch} does not exist, so there is nothing to publish"
    raise GitError(Code.WORKTREE_LOST, message, "find its commits with git reflog")


def _check_for_changes(worktree: Worktree, target: str, synced: SyncResult) -> PublishOutcome | None:
    """Return a NOTHING outcome if the target has all commits or no file differs."""
    if synced.contained:
        note = f"{target} already contains {worktree.branch}, so nothing was published"
    elif resolve_tree(worktree.repository, synced.base) == resolve_tree(worktree.repository, synced.tip):
        note = f"{worktree.branch} changes no file of {target}, so nothing was published"
    else:
        return None
    return PublishOutcome(PublishResult.NOTHING, synced.tip, synced.base, notes=(note,))


def _find_github_name(job: _PublishJob, remote: Remote) -> str:
    address = remote.push_url or remote.url
    name = parse_repository_name(address) or parse_repository_name(
        resolve_remote_url(job.worktree.repository, remote)
    )
    if name is None:
        message = f"the remote {remote.name} is not a GitHub repository, so no pull request is possible"
        raise GitError(Code.PUBLISH_FAILED, message, job.options.without_github)
    require_known_host(name)
    return name


def _find_fork_owner(job: _PublishJob, route: Route, repository: str) -> str:
    """Return the owner of the fork that the branch is pushed to; empty if it is the target's repository."""
    if route.push == route.target.destination:
        return ""
    name = _find_github_name(job, route.push)
    return "" if name == repository else name.split("/")[-2]


def _check_target(target: str) -> str:
    if target:
        return check_branch_name(target)
    message = "the task did not start from a branch, so it has no target to publish to"
    raise GitError(Code.PUBLISH_FAILED, message, "set git.target to the name of a branch")
