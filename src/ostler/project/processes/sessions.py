"""The processes of sessions without a task: their marker has the id of the session instead of a task."""

from __future__ import annotations

from ostler.model.ids import TaskId
from ostler.project.agents.stored_session import AgentSession, find_sessions
from ostler.project.processes.trees import Marker
from ostler.project.project import Project


def belongs_to_task(project: Project, marker: Marker) -> bool:
    """Return whether the marker names a task of the journal."""
    return project.journal.row(TaskId(marker.task)) is not None


def find_marked_session(project: Project, marker: Marker) -> AgentSession | None:
    """Return the stored session that the marker names; None for that of a check of a model."""
    found = find_sessions(project, marker.task)
    return found[0] if len(found) == 1 and not belongs_to_task(project, marker) else None
