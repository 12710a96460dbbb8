"""Unfinished work: committed when a run stops, and kept under a ref by a rewind."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.steps.services import StepServices
from ostler.engine.steps.workspaces.moved_sessions import save_sessions
from ostler.engine.steps.workspaces.moving import push_work
from ostler.engine.steps.workspaces.worktree import find_worktree, release_workspace
from ostler.errors import Code, GitError, OstlerError
from ostler.git.commit.heads import read_heads
from ostler.git.commit.trailers import build_message
from ostler.git.identity import read_identity
from ostler.model.event import TaskStarted, WorkspaceReleased
from ostler.model.state import State
from ostler.model.status import TaskStatus

_LAST_PUSH_SECONDS = 20.0  # a host that is stopped does not wait longer for the remote


def save_work_in_progress(state: State, services: StepServices) -> str | None:
    """Commit uncommitted changes; return the commit, or None if there are none."""
    from ostler.engine.steps.workspaces.agent_commits import take_agent_commits  # noqa: PLC0415  (imported on use)
    from ostler.git.commit.checkpoint import create_checkpoint  # noqa: PLC0415  (imported on use)
    from ostler.git.commit.diff import has_changed_since  # noqa: PLC0415  (imported on use)

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
    """Commit uncommitted changes, and push them for other hosts.

    Return a warning if that fails: it must not keep a task from ending.
    """
    try:
        save_work_in_progress(state, services)
    except (OstlerError, OSError) as error:
        if isinstance(error, OstlerError) and error.code is Code.WORKTREE_LOST:
            return ""
        return f"its work is in {_describe_place(state, services)}, not committed: {_get_reason(error)}"
    return _try_push_work(state, services)


def _try_push_work(state: State, services: StepServices) -> str:
    """Push the work for other hosts; return a warning if that fails."""
    if services.mover is None:
        return ""
    save_sessions(state, services)
    try:
        push_work(state, services, _LAST_PUSH_SECONDS)
    except OstlerError as error:
        where = _describe_place(state, services)
        return f"no other host can continue its last changes, which are in {where}: {error.message}"
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
            _try_push_work(state, services)
        return release_workspace(state, services)
    except (OstlerError, OSError) as error:
        return keep_workspace(state, _get_reason(error), services)


def keep_workspace(state: State, reason: str, services: StepServices) -> WorkspaceReleased:
    """Return the event for a workspace that could not be released; the warning names its path."""
    warning = f"{_describe_place(state, services)} is kept: {reason}"
    return WorkspaceReleased(kept=True, warning=warning)


def _describe_place(state: State, services: StepServices) -> str:
    if state.worktree is None:
        return "its workspace"
    return f"its worktree {services.layout.worktree_of_record(state.worktree)}"


def _get_reason(error: OstlerError | OSError) -> str:
    return error.message if isinstance(error, OstlerError) else str(error)


def rewind_workspace(state: State, started: TaskStarted, services: StepServices) -> None:
    """Reset the branch to the start of the phase; later commits are kept under a ref."""
    if state.reset_to is not None:
        kept_as = f"refs/ostler/rewound/{state.task}/{state.round}"
        _reset_workspace(with_workspace(state, started), state.reset_to, kept_as, services)


def continue_from(commit: str, state: State, started: TaskStarted, services: StepServices) -> None:
    """Reset the branch to the work of the last host; what an earlier run left here is kept under a ref."""
    kept_as = f"refs/ostler/overtaken/{state.task}/{state.claims}"
    _reset_workspace(with_workspace(state, started), commit, kept_as, services)


def _reset_workspace(state: State, commit: str, kept_as: str, services: StepServices) -> None:
    from ostler.git.commit.checkpoint import rewind_branch  # noqa: PLC0415  (imported on use)

    worktree = find_worktree(state, services)
    if worktree is None:
        return
    try:
        save_work_in_progress(state, services)
    except GitError as error:
        if error.code is not Code.WORKTREE_LOST:
            raise
    rewind_branch(worktree, commit, kept_as, read_identity(worktree.repository))


def merge_target(state: State, started: TaskStarted, commit: str, services: StepServices) -> TaskStarted:
    """Merge the target into the branch with conflict markers, so that an agent can solve them."""
    from ostler.git.publish.rebase import merge_with_conflict_markers  # noqa: PLC0415  (imported on use)

    current = with_workspace(state, started)
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


def with_workspace(state: State, started: TaskStarted) -> State:
    """Return the state with the workspace that was prepared."""
    return replace(state, worktree=started.worktree, branch=started.branch, base=started.base)
