"""The number of tasks by status, need and priority, which triggers of the database keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from ostler.model.status import TaskStatus
from ostler.store.database import Database, number_parameters
from ostler.store.listing import TaskFilter

_SELECT = "SELECT status, need, priority, tasks FROM task_count WHERE tasks > 0 AND {}archived"
_SELECT_LEFT = """
    SELECT priority, count(*) FROM task WHERE status = 'in_progress' AND id IN ({}) GROUP BY priority"""


class Kind(NamedTuple):
    """Tasks that are counted together."""

    status: str
    need: str
    priority: str


def is_counted(matching: TaskFilter) -> bool:
    """Return whether the number of matching tasks is known without reading them."""
    return not (matching.text or matching.pipeline or matching.since)


def count_kinds(db: Database, matching: TaskFilter) -> Counter[Kind]:
    """Return the number of tasks of each kind that can match; tasks without a process count as pending."""
    found: Counter[Kind] = Counter()
    for status, need, priority, tasks in db.query(_SELECT.format("" if matching.archived else "NOT ")):
        found[Kind(status, need, priority)] = tasks
    if matching.without_owner:
        left = matching.without_owner
        query = _SELECT_LEFT.format(number_parameters(1, len(left)))
        for priority, tasks in db.query(query, *left):
            found[Kind(TaskStatus.IN_PROGRESS, "", priority)] -= tasks
            found[Kind(TaskStatus.PENDING, "", priority)] += tasks
    return Counter({kind: tasks for kind, tasks in found.items() if tasks > 0 and _can_match(kind, matching)})


def list_statuses(db: Database, matching: TaskFilter) -> list[str]:
    """Return the recorded statuses of the tasks that can match."""
    wanted = matching.statuses
    if wanted and matching.without_owner:
        wanted = (*wanted, TaskStatus.IN_PROGRESS)
    kinds = count_kinds(db, replace(matching, statuses=wanted, without_owner=()))
    return sorted({kind.status for kind in kinds})


def add_up(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the sum of each name."""
    found: dict[str, int] = {}
    for name, tasks in counts:
        found[name] = found.get(name, 0) + tasks
    return found


def _can_match(kind: Kind, matching: TaskFilter) -> bool:
    if matching.priority not in ("", kind.priority):
        return False
    is_any = not matching.statuses and not matching.needs
    return is_any or kind.status in matching.statuses or kind.need in matching.needs
