"""Unfinished work: committed when a run stops, and kept under a ref by a rewind."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.steps.services import StepServices
from ostler.engine.steps.workspaces.agent_commits import take_agent_commits
from ostler.engine.steps.workspaces.worktree import find_worktree, release_workspace
from ostler.errors import Code, GitError, OstlerError
from ostler.git.commit.checkpoint import create_checkpoint, rewind_branch
from ostler.git.commit.diff import has_changed_since
from ostler.git.commit.heads import read_heads
from ostler.git.commit.trailers import build_message
from ostler.git.identity import read_identity
from ostler.git.publish.rebase import merge_with_conflict_markers
from ostler.model.event import TaskStarted, WorkspaceReleased
from ostler.model.state import State
from ostler.model.status import TaskStatus


def save_work_in_progress(state: State, services: StepServices) -> str | None:
    """Commit uncommitted changes; return the commit, or None if there are none."""
    worktree = find_worktree(state, services)
    if worktree is None or not worktree.path.exists():
        return None
    take_agent_commits(state, services)  # of an attempt that a kill ended
    if not has_changed_since(worktree, read_heads(worktree).tip):
        return None
    key = f"{state.task}/{state.round}.{state.current.id}.{state.iteration}.{state.call}.{state.claims}"
    trailers = {"Task-Id": state.task, "Phase": state.current.id, "Step": f"{key}/wip"}
    subject = f"{services.settings.git.commit_prefix} {state.task}: {state.current.id} - work in progress"
    return create_checkpoint(worktree, subject.strip(), trailers, read_identity(worktree.repository)).commit


def try_save_work_in_progress(state: State, services: StepServices) -> str:
    """Commit uncommitted changes; return a warning if that fails: it must not keep a task from ending."""
    try:
        save_work_in_progress(state, services)
    except (OstlerError, OSError) as error:
        if isinstance(error, OstlerError) and error.code is Code.WORKTREE_LOST:
            return ""
        return f"its work is in {state.worktree}, not committed: {_get_reason(error)}"
    return ""


def try_release_workspace(state: State, services: StepServices) -> WorkspaceReleased:
    """Release the workspace; keep it, with a warning, if that fails or would lose uncommitted work."""
    is_removed = services.settings.git.cleanup_on_fail and state.status is not TaskStatus.COMPLETED
    if is_removed and (warning := try_save_work_in_progress(state, services)):
        return WorkspaceReleased(kept=True, warning=warning)
    try:
        if state.status is TaskStatus.COMPLETED and state.reset_to is not None:
            # A cancelled merge had rebased the branch.
            rewind_workspace(state, TaskStarted(state.worktree, state.branch, state.base), services)
        return release_workspace(state, services)
    except (OstlerError, OSError) as error:
        return keep_workspace(state, _get_reason(error))


def keep_workspace(state: State, reason: str) -> WorkspaceReleased:
    """Return the event for a workspace that could not be released; the warning names its path."""
    where = f"its worktree {state.worktree}" if state.worktree else "its workspace"
    return WorkspaceReleased(kept=True, warning=f"{where} is kept: {reason}")


def _get_reason(error: OstlerError | OSError) -> str:
    return error.message if isinstance(error, OstlerError) else str(error)


def rewind_workspace(state: State, started: TaskStarted, services: StepServices) -> None:
    """Reset the branch to the start of the phase; later commits are kept under a ref."""
    current = _with_workspace(state, started)
    worktree = find_worktree(current, services)
    if worktree is None or state.reset_to is None:
        return
    try:
        save_work_in_progress(current, services)
    except GitError as error:
        if error.code is not Code.WORKTREE_LOST:
            raise
    kept_as = f"refs/ostler/rewound/{state.task}/{state.round}"
    rewind_branch(worktree, state.reset_to, kept_as, read_identity(worktree.repository))


def merge_target(state: State, started: TaskStarted, commit: str, services: StepServices) -> TaskStarted:
    """Merge the target into the branch with conflict markers, so that an agent can solve them."""
    current = _with_workspace(state, started)
    worktree = find_worktree(current, services)
    if worktree is None:
        return started
    save_work_in_progress(current, services)
    subject = (
        f"{services.settings.git.commit_prefix} {state.task}: merge {state.target or commit[:10]}".strip()
    )
    trailers = {"Task-Id": state.task, "Step": f"{state.task}/{state.round}/{commit}"}
    message = build_message(subject, trailers).decode()
    merge_with_conflict_markers(worktree, commit, message, read_identity(worktree.repository))
    return replace(started, base=commit)


def _with_workspace(state: State, started: TaskStarted) -> State:
    return replace(state, worktree=started.worktree, branch=started.branch, base=started.base)
