"""The actions that put tasks away: archive, rm and purge."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ostler.clock import format_rfc3339
from ostler.errors import UsageError
from ostler.model.event import Event
from ostler.model.events.disposal import TaskArchived, TaskPurged, TaskRemoved, TaskUnarchived
from ostler.model.state import State
from ostler.model.status import TERMINAL, TaskStatus
from ostler.project.decisions.action import ONLY_IF_DECIDED, Action, NoParams, Params, not_allowed


class ArchiveParams(Params, frozen=True):
    undo: Annotated[bool, Meta(description="List the task again.")] = False


class PurgeParams(Params, frozen=True):
    branches: Annotated[bool, Meta(description="Also delete its branch if it is not merged.")] = False


def require_files(state: State, what: str) -> None:
    """Raise for a purged task: `what` needs its files."""
    if state.purged_at is not None:
        branch = f"git branch --list {state.branch}" if state.branch else 'ostler new "Describe the task"'
        raise UsageError(f"{describe_purged(state)}: it cannot be {what}", branch)


def describe_purged(state: State) -> str:
    """Return that and when a task was purged."""
    return f"{state.task} was purged at {format_rfc3339(state.purged_at or 0.0)}"


def _archive(state: State, params: ArchiveParams) -> Event:
    if params.undo:
        if state.archived_at is None:
            raise not_allowed(state, "it is not archived")
        return TaskUnarchived()
    _require_ended(state, "archived")
    if state.archived_at is not None:
        raise not_allowed(state, "it is archived already", f"ostler archive --undo {state.task}")
    return TaskArchived()


def _remove(state: State, params: NoParams) -> Event:
    if state.status is TaskStatus.IN_PROGRESS:
        raise not_allowed(state, "only a task that never ran can be removed", f"ostler cancel {state.task}")
    has_started = state.base is not None or any(phase.iterations for phase in state.phases)
    if has_started or state.status in (TaskStatus.COMPLETED, TaskStatus.APPROVED):
        raise has_run_error(state)
    return TaskRemoved()


def has_run_error(state: State) -> UsageError:
    """Return the error for the removal of a task with attempts."""
    first = "" if state.status in TERMINAL else f"ostler cancel {state.task}   and then   "
    return UsageError(
        f"{state.task} has run: only a task that never ran can be removed",
        f"{first}ostler archive {state.task}   hides it,   ostler purge {state.task}   deletes its files",
    )


def _purge(state: State, params: PurgeParams) -> Event:
    _require_ended(state, "purged")
    require_files(state, "purged again")
    return TaskPurged(branch=params.branches)


def _require_ended(state: State, what: str) -> None:
    if state.status not in TERMINAL:
        raise not_allowed(state, f"only an ended task can be {what}", f"ostler cancel {state.task}")


DISPOSALS = (
    Action(
        "archive",
        "Hide ended tasks from the lists",
        "Hide ended tasks from the lists; everything is kept. `ostler status --archived` lists them.",
        ArchiveParams,
        _archive,
        "is archived.",
        undone="is not archived any more.",
    ),
    Action(
        "rm",
        "Delete tasks that never ran",
        "Delete tasks that never ran. A task that another one depends on is not deleted.",
        NoParams,
        _remove,
        "is removed.",
        agent_note=ONLY_IF_DECIDED,
        deletes=True,
    ),
    Action(
        "purge",
        "Delete the files, refs and logs of ended tasks",
        "Delete everything that ended tasks left on the disk: prompts, transcripts, reviews, worktrees, "
        "private homes and refs, and their branches if they are merged. Records and costs are kept.",
        PurgeParams,
        _purge,
        "is purged.",
        agent_note=f"It cannot be undone. {ONLY_IF_DECIDED}",
        deletes=True,
    ),
)
