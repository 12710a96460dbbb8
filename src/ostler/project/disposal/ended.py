"""Finds ended tasks by their age, to archive or purge many."""

from __future__ import annotations

import time
from typing import Annotated

from msgspec import Meta, Struct

from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.status import TERMINAL, TaskStatus
from ostler.project.decisions.moments import parse_age
from ostler.project.project import Project

_DONE = frozenset({TaskStatus.COMPLETED, TaskStatus.APPROVED})


class ArchiveFilter(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tasks to archive; at least one field is set."""

    completed: Annotated[bool, Meta(description="Archive every completed task.")] = False
    older_than: Annotated[str, Meta(description="Only tasks that ended longer ago, such as 30d.")] = ""


def find_archivable(project: Project, wanted: ArchiveFilter, archived: bool = False) -> list[TaskId]:
    """Return the matching ended tasks, the archived ones or the others, oldest first; raise UsageError."""
    age = parse_age(wanted.older_than, "--older-than") if wanted.older_than else 0.0
    found = [row for row, _ in list_ended(project, age) if (row.archived_at is not None) is archived]
    return [row.id for row in found if not wanted.completed or row.status in _DONE]


def list_ended(project: Project, age_seconds: float = 0.0) -> list[tuple[TaskRow, float]]:
    """Return the tasks that ended at least so long ago, each with the time of its end, the oldest first."""
    latest, ends = time.time() - age_seconds, project.journal.listing.ends()
    ended = [(row, ends.get(row.id, row.updated_at)) for row in project.journal.rows()]
    return [(row, at) for row, at in ended if row.status in TERMINAL and at <= latest]
