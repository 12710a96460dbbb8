"""Tasks that waited for a person to merge them, and were merged."""

from __future__ import annotations

from ostler.clock import SystemClock
from ostler.engine.records import append_event
from ostler.git.refs import resolve_commit
from ostler.git.repository import Repository
from ostler.model.event import DecisionRecorded
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.model.state import Stage, State
from ostler.model.status import TaskStatus
from ostler.project.project import Project


def approve_merged(project: Project) -> list[TaskId]:
    """Continue the tasks whose commits a person has merged into their target; return them."""
    rows = [row for row in project.journal.open_rows() if row.status == TaskStatus.NEEDS_REVIEW]
    waiting = [state for state in map(decode_state, rows) if state.stage is Stage.PUBLISHING]
    repository = project.repository() if waiting else None
    if repository is None:
        return []
    merged = [state for state in waiting if _is_merged(repository, state, project.settings.git.target)]
    for state in merged:
        event = DecisionRecorded("approve", f"{state.target or 'the target'} contains the commit")
        append_event(project.journal, state.task, event, SystemClock.now())
    return [state.task for state in merged]


def _is_merged(repository: Repository, state: State, target: str) -> bool:
    from ostler.git.publish.merge import is_ancestor  # noqa: PLC0415  (imported on use)

    tip = resolve_commit(repository, f"refs/heads/{state.branch}")
    onto = resolve_commit(repository, f"refs/heads/{target or state.target}")
    return bool(tip and onto) and is_ancestor(repository, tip, onto)
