"""Pages of the list of tasks: each status is read from its part of one index, and the parts are merged."""

from __future__ import annotations

from collections.abc import Iterable

from ostler.model.ids import TaskId
from ostler.model.status import TERMINAL, TaskStatus
from ostler.store.database import Database, Value
from ostler.store.listing import KEYS, Cursor, Sort, TaskFilter
from ostler.store.queries.conditions import IS_QUEUED, Conditions
from ostler.store.queries.task_counts import count_kinds, list_statuses

# SQLite uses the index of the inbox only for its condition, word for word.
_HAS_NEED = "need <> '' AND need = '{}'"
_BY_WAIT = "priority, status_since, id"
_BY_PLACE = "priority, coalesce(queued_at, created_at), id"


def read_page(db: Database, matching: TaskFilter, sort: Sort, after: Cursor, limit: int) -> list[TaskId]:
    """Return the tasks after the cursor, in this order."""
    return _merge(db, matching, list_statuses(db, matching), sort, after, limit)


def read_queue(db: Database, priority: str, limit: int) -> list[TaskId]:
    """Return the first waiting tasks of a priority, in the order in which a run starts them."""
    return _select(db, IS_QUEUED, TaskFilter(priority=priority), _BY_PLACE, limit)


def read_in_order(db: Database, matching: TaskFilter, limit: int) -> list[TaskId]:
    """Return what needs a person, then running, waiting and paused tasks, then the ended ones."""
    kinds = count_kinds(db, matching)  # a part without a matching task would be read in vain
    needs, others = {kind.need for kind in kinds}, {kind.status for kind in kinds if not kind.need}
    ended, running = others & TERMINAL, others & {TaskStatus.IN_PROGRESS}
    parts = [(_HAS_NEED.format(need), _BY_WAIT) for need in ("question", "review", "failed") if need in needs]
    if running or (matching.without_owner and TaskStatus.PENDING in others):
        parts.append(("status = 'in_progress'", _BY_PLACE))
    if others - ended - running:
        parts.append((IS_QUEUED, _BY_PLACE))
    if "paused" in needs:
        parts.append((_HAS_NEED.format("paused"), _BY_WAIT))
    found: list[TaskId] = []
    for condition, order in parts:
        if len(found) < limit:
            found += _select(db, condition, matching, order, limit - len(found))
    if ended and len(found) < limit:
        found += _merge(db, matching, sorted(ended), "updated", (), limit - len(found), "need = ''")
    return found


def _select(db: Database, condition: str, matching: TaskFilter, order: str, limit: int) -> list[TaskId]:
    where = Conditions()
    where.add(condition)
    where.add_filter(matching)
    query = f"SELECT id FROM task {where.sql} ORDER BY {order} LIMIT ${len(where.values) + 1}"  # noqa: S608  (no part comes from a user)
    return [TaskId(found) for (found,) in db.query(query, *where.values, limit)]


def _merge(
    db: Database,
    matching: TaskFilter,
    statuses: Iterable[str],
    sort: Sort,
    after: Cursor,
    limit: int,
    condition: str = "",
) -> list[TaskId]:
    """Return the first tasks with one of the statuses; from each status no more than those are read."""
    columns = KEYS[sort]
    direction, sign = ("ASC", ">") if sort == "priority" else ("DESC", "<")
    order = ", ".join(f"{column} {direction}" for column in columns)
    keys = ", ".join(f"{column} AS key{number}" for number, column in enumerate(columns))
    values: list[Value] = []
    selects: list[str] = []
    for status in statuses:
        where = Conditions(values)
        where.add("status = {}", [status])
        where.add_filter(matching)
        if condition:
            where.add(condition)
        if after:
            where.add(f"({', '.join(columns)}) {sign} ({{}})", after)
        values.append(limit)
        one = f"SELECT {keys} FROM task {where.sql} ORDER BY {order} LIMIT ${len(values)}"  # noqa: S608
        selects.append(f"SELECT * FROM ({one}) AS part{len(selects)}")  # noqa: S608
    if not selects:
        return []
    merged = ", ".join(f"key{number} {direction}" for number in range(len(columns)))
    values.append(limit)
    query = f"{' UNION ALL '.join(selects)} ORDER BY {merged} LIMIT ${len(values)}"
    return [TaskId(found[-1]) for found in db.query(query, *values)]
