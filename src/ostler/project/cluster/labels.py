"""The labels of the tasks that workers still have to run."""

from __future__ import annotations

from collections import Counter

from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.project.project import Project

MAX_TASKS = 1000
"""Tasks whose label is read: the list does not have it."""


def count_labels(project: Project) -> dict[str, int]:
    """Return how many tasks that can run have each label; empty: those without one."""
    rows = project.journal.open_rows()
    waiting = [row.id for row in rows if row.status in (*EXECUTABLE, TaskStatus.IN_PROGRESS)]
    return dict(Counter(project.task(task).label for task in waiting[:MAX_TASKS]))
