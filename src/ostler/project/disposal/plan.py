"""What a purge deletes, and which tasks it leaves (ostler.purge/1)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ostler.clock import format_rfc3339
from ostler.errors import UsageError
from ostler.files.lock import is_locked
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state, is_purged
from ostler.model.status import TERMINAL
from ostler.project.disposal.dispose import list_dependents, require_no_dependents
from ostler.project.disposal.ended import list_ended
from ostler.project.disposal.remains import RemainsFinder
from ostler.project.disposal.uploaded import count_uploaded_bytes
from ostler.project.project import Project
from ostler.project.tasks.worktrees import list_worktrees


class PurgedTask(Struct, frozen=True):
    """What is deleted of one task."""

    id: TaskId
    title: str
    status: str
    ended_at: str
    bytes: int
    uploaded_bytes: int  # in the blob store
    directories: tuple[str, ...]
    worktree: str | None
    uncommitted: bool  # the worktree has work that no commit contains
    refs: tuple[str, ...]
    branch: str | None
    kept_branch: str | None  # not merged, or checked out


class KeptTask(Struct, frozen=True):
    """A task that is old enough, but is not purged."""

    id: TaskId
    reason: str


class PurgePlan(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.purge/1"
    dry_run: bool = False
    bytes: int = 0
    tasks: tuple[PurgedTask, ...] = ()
    kept: tuple[KeptTask, ...] = ()
    finished: tuple[TaskId, ...] = ()  # of an earlier call that was interrupted


def plan_purge(
    project: Project, named: Sequence[TaskId], age_seconds: float | None, *, branches: bool, dry_run: bool
) -> PurgePlan:
    """Return what a purge deletes: of the named tasks, or of all that ended long enough ago.

    Raises UsageError for a named task that cannot be purged.
    """
    ended = list_ended(project, age_seconds or 0.0)
    if named:
        _require_purgeable(project, named, {row.id for row, _ in ended})
    wanted = [(row, at) for row, at in ended if not is_purged(row) and (not named or row.id in named)]
    kept = [KeptTask(row.id, reason) for row, _ in wanted if (reason := _find_reason(project, row.id))]
    left = {one.id for one in kept}
    uncommitted = {one.task for one in list_worktrees(project) if one.uncommitted}
    finder = RemainsFinder(project.layout, project.repository())
    tasks = tuple(
        _describe(project, finder, row, at, branches, row.id in uncommitted)
        for row, at in wanted
        if row.id not in left
    )
    total = sum(one.bytes for one in tasks)
    return PurgePlan(dry_run=dry_run, bytes=total, tasks=tasks, kept=tuple(kept))


def _require_purgeable(project: Project, named: Sequence[TaskId], old_enough: set[TaskId]) -> None:
    """Raise for a named task that is not ended, too new, purged already, or needed by another one."""
    for task in named:
        state = project.state(task)
        if state.status in TERMINAL and state.purged_at is None and task not in old_enough:
            raise UsageError(f"{task} ended more recently than --older-than", "omit --older-than")
        project.validate_action(task, "purge")
        require_no_dependents(project, task)


def _find_reason(project: Project, task: TaskId) -> str:
    """Return why a task is not purged; empty if it is."""
    if is_locked(project.layout.lock(task)):
        return "another process uses it"
    if dependents := list_dependents(project, task):
        return f"{', '.join(dependents)} {'depends' if len(dependents) == 1 else 'depend'} on it"
    return ""


def _describe(
    project: Project, finder: RemainsFinder, row: TaskRow, ended_at: float, branches: bool, uncommitted: bool
) -> PurgedTask:
    state = decode_state(row)
    remains = finder.find(state, branches=branches)
    return PurgedTask(
        id=row.id,
        title=row.title,
        status=row.status,
        ended_at=format_rfc3339(ended_at),
        bytes=remains.count_bytes(),
        uploaded_bytes=count_uploaded_bytes(project, state),
        directories=tuple(map(str, remains.directories)),
        worktree=str(remains.worktree) if remains.worktree else None,
        uncommitted=uncommitted and remains.worktree is not None,
        refs=remains.refs,
        branch=remains.branch or None,
        kept_branch=remains.kept_branch or None,
    )
