"""Brings the branch of a task to the remote for other hosts, and from there to this one."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.steps.services import StepServices
from ostler.errors import Code, GitError
from ostler.git.move.task_ref import (
    TaskRef,
    fetch_branch,
    fetch_commit,
    find_default_branch,
    find_recorded_ref,
    find_start_ref,
    find_task_ref,
    push_commit,
    read_known_commit,
)
from ostler.git.publish.merge import is_ancestor
from ostler.git.publish.secrets import require_no_secrets
from ostler.git.refs import has_commit, resolve_commit, restore_branch
from ostler.git.repository import Repository
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.model.state import State


def push_work(state: State, services: StepServices, limit_seconds: float | None = None) -> None:
    """Push the branch for other hosts; nothing happens where tasks do not move.

    Called before the record that names the commit, so that no host misses a commit of the journal. A remote
    that does not answer ends it after `limit_seconds`.
    """
    ref = find_ref(state.task, services)
    if ref is None or state.branch is None:
        return
    if limit_seconds is not None:
        ref = replace(ref, outage_seconds=limit_seconds, timeout_seconds=limit_seconds)
    tip = resolve_commit(ref.repository, f"refs/heads/{state.branch}")
    if not tip:
        return
    known = read_known_commit(ref)
    if tip != known and not services.settings.git.allow_secrets:
        goes_on = bool(known) and is_ancestor(ref.repository, known, tip)
        require_no_secrets(ref.repository, known if goes_on else state.base or "", tip)
    push_commit(ref, tip, lambda: _is_owner(state, services))


def push_rewritten_work(state: State, before: State, services: StepServices) -> None:
    """Push the branch, which may have been rebased since the recorded state before.

    If it was, the recorded commit is pushed too: with it, a host that continues before the rebase is recorded
    finds that no commit is lost.
    """
    ref = find_ref(state.task, services)
    if ref is None or state.branch is None or services.mover is None:
        return
    tip, recorded = resolve_commit(ref.repository, f"refs/heads/{state.branch}"), before.commit or before.base
    if not tip or tip == read_known_commit(ref):
        return
    if recorded and before.reset_to is None and not is_ancestor(ref.repository, recorded, tip):
        replaced = find_recorded_ref(ref.repository, services.mover.remote, state.task)
        push_commit(replaced, recorded, lambda: _is_owner(state, services))
    push_work(state, services)


def fetch_work(state: State, services: StepServices) -> str:
    """Fetch what the last host pushed, and create the branch if it is missing; return its commit.

    Empty if this host has the workspace. Raises WORKTREE_LOST if a recorded commit is missing: the task must
    not go on without it.
    """
    ref = find_ref(state.task, services)
    if ref is None or state.branch is None or state.workspace_host == services.host:
        return ""
    if not state.workspace_host and _is_work_here(ref.repository, state.branch, state):
        return ""
    tip = fetch_commit(ref, tuple(filter(None, (state.base, state.commit))))
    if not tip or not (_contains_work(ref.repository, tip, state) or _is_rewritten(state, services)):
        raise _create_lost_error(ref, state)
    restore_branch(ref.repository, state.branch, tip)
    return tip


def fetch_commits(commits: dict[TaskId, str], services: StepServices) -> None:
    """Fetch the commits of other tasks that this repository does not have."""
    for task, commit in commits.items():
        ref = find_ref(task, services)
        if ref is not None and commit and not has_commit(ref.repository, commit):
            fetch_commit(ref)


def fetch_start(commit: str, services: StepServices) -> None:
    """Fetch the user's uncommitted changes that a task starts from."""
    if commit and services.mover and services.repository and not has_commit(services.repository, commit):
        fetch_commit(find_start_ref(services.repository, services.mover.remote, commit))


def fetch_target(branch: str | None, services: StepServices) -> str:
    """Return the commit that a branch has at the remote; empty where tasks do not move, or without one.

    Each host has a clone of its own, whose branches are as old as the last pull of a person.
    """
    if services.mover is None or services.repository is None or branch is None:
        return ""
    return fetch_branch(services.repository, services.mover.remote, branch)


def find_shared_target(services: StepServices) -> str:
    """Return the target of a task without [git] target; empty where tasks do not move.

    What is checked out differs between the clones of a cluster, and may be on no other machine.
    """
    if services.mover is None or services.repository is None:
        return ""
    return find_default_branch(services.repository, services.mover.remote)


def find_ref(task: TaskId, services: StepServices) -> TaskRef | None:
    """Return the ref through which a task moves; None where tasks do not move."""
    if services.mover is None or services.repository is None:
        return None
    return find_task_ref(services.repository, services.mover.remote, task)


def _is_work_here(repository: Repository, branch: str, state: State) -> bool:
    """Return whether this is the machine of a task that ran before its journal was copied to a cluster."""
    tip = resolve_commit(repository, f"refs/heads/{branch}")
    return bool(tip) and _contains_work(repository, tip, state)


def _contains_work(repository: Repository, tip: str, state: State) -> bool:
    """Return whether the commit has the recorded one; a rewind leaves that behind."""
    if state.reset_to is not None:
        return has_commit(repository, state.reset_to)
    commit = state.commit or state.base
    return commit is None or (has_commit(repository, commit) and is_ancestor(repository, commit, tip))


def _is_rewritten(state: State, services: StepServices) -> bool:
    """Return whether the last host rebased the recorded commit, and could not record that any more."""
    assert services.repository is not None
    assert services.mover is not None
    recorded = find_recorded_ref(services.repository, services.mover.remote, state.task)
    commit = state.commit or state.base
    return state.reset_to is None and commit is not None and fetch_commit(recorded) == commit


def _create_lost_error(ref: TaskRef, state: State) -> GitError:
    commit = state.reset_to or state.commit or state.base or ""
    host = state.workspace_host or "another host"
    message = (
        f"{state.task} cannot go on here: its commit {commit:.10} was made on {host}, "
        f"and {ref.name} at {ref.remote.name} does not have it"
    )
    hint = f"on that host: git push {ref.remote.name} {commit:.10}:{ref.name}; then ostler retry {state.task}"
    return GitError(Code.WORKTREE_LOST, message, hint)


def _is_owner(state: State, services: StepServices) -> bool:
    """Return whether no other host has claimed the task since."""
    row = services.journal.row(state.task)
    return row is not None and decode_state(row).claims == state.claims
