"""Makes many tasks pending again: failed ones, those with a code, or those that changed since a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from ostler.errors import Code, UsageError
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state, is_purged
from ostler.model.status import REOPENABLE, TaskStatus
from ostler.project.apply_action import apply_action
from ostler.project.decisions.moments import parse_since
from ostler.project.project import Project

_FAILED = frozenset({TaskStatus.FAILED, TaskStatus.QUARANTINED})


class RetryFilter(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tasks to retry; at least one field is set."""

    failed: Annotated[bool, Meta(description="Retry every failed and quarantined task.")] = False
    code: Annotated[str, Meta(description="Retry every task that stopped with this code.")] = ""
    since: Annotated[str, Meta(description="Only tasks that changed since then, such as 2d or 18:30.")] = ""


class RetriedTasks(Struct, frozen=True, kw_only=True):
    """The tasks that are pending again, the oldest first."""

    schema: str = "ostler.retried/1"
    tasks: list[TaskId]


def retry_matching(project: Project, environ: Mapping[str, str], wanted: RetryFilter) -> RetriedTasks:
    """Make the matching tasks pending again; raise UsageError without a filter or for an invalid one."""
    if wanted == RetryFilter():
        raise UsageError("no filter", "set failed, code or since")
    found = find_retryable(project, wanted)
    for task in found:
        apply_action(project, environ, task, "retry")
    return RetriedTasks(tasks=found)


def find_retryable(project: Project, wanted: RetryFilter) -> list[TaskId]:
    """Return the matching tasks, the oldest first: failed ones, or all that can be retried with a code.

    Raises UsageError for an unknown code or an invalid time.
    """
    code, since = wanted.code, parse_since(wanted.since, "since") if wanted.since else None
    if code and code not in Code.__members__:
        raise UsageError(f"unknown code {code!r:.80}", "the codes are listed in docs/reference/codes.md")
    statuses = _FAILED if wanted.failed or not code else REOPENABLE
    rows = [row for row in project.journal.rows() if row.status in statuses and row.archived_at is None]
    rows = [row for row in rows if not is_purged(row)]
    rows = [row for row in rows if since is None or row.updated_at >= since]
    if code:
        rows = [row for row in rows if decode_state(row).code == code]
    return [row.id for row in sorted(rows, key=lambda row: (row.created_at, row.id))]
