"""A page of tasks, with what each one asks of a person (ostler.board/1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from ostler.clock import rfc3339
from ostler.errors import Code
from ostler.model.status import TaskStatus
from ostler.model.usage import Usage
from ostler.views.groups import GROUPS, Group, group_of
from ostler.views.lanes import Lane
from ostler.views.task import PhaseView, TaskView

Asks = Literal["approve", "reply", "resume", "retry"]

_S = TaskStatus
_ASKS: dict[TaskStatus, Asks] = {
    _S.NEEDS_REVIEW: "approve",
    _S.BLOCKED: "reply",
    _S.PAUSED: "resume",
    _S.FAILED: "retry",
    _S.QUARANTINED: "retry",
    _S.CANCELLED: "retry",
    _S.ABANDONED: "retry",
}
_ASKS_BY_CODE: dict[tuple[TaskStatus, Code | None], Asks] = {
    (_S.BLOCKED, Code.GATE_REJECTED): "approve",
    (_S.BLOCKED, Code.GATE_UNRUNNABLE): "approve",
    (_S.BLOCKED, Code.DEPENDENCY_FAILED): "resume",
    (_S.PAUSED, Code.BUDGET_EXCEEDED): "retry",
}


class PhaseMark(Struct, frozen=True):
    id: str
    status: str


class BoardRow(Struct, frozen=True, kw_only=True):
    """A task in a list."""

    id: str
    title: str
    status: TaskStatus
    group: Group
    weight: str
    priority: str
    phase: str
    iteration: int
    phases: tuple[PhaseMark, ...]
    code: Code | None
    message: str
    resumes_at: str | None
    created_at: str
    updated_at: str
    usage: Usage
    cost_usd: float | None
    pipeline: str | None
    step: str | None
    waits_for: tuple[str, ...]
    not_before: str | None
    doing: str  # the last action of one that runs
    since: str | None  # when a run took it
    tokens: int  # what the attempt under way has used is in it
    asks: Asks | None  # what a person can do for it
    result: str | None  # what came out: a pull request, a document's path, or the branch


class Counts(Struct, frozen=True):
    """How many tasks there are in each group."""

    needs_you: int = 0
    running: int = 0
    waiting: int = 0
    done: int = 0
    ended: int = 0


class BoardView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.board/1"
    tasks: tuple[BoardRow, ...]
    counts: Counts
    total: int  # of this query
    next: str | None  # where the next page begins
    position: int  # of the feed, before any of this was read


def view_row(view: TaskView, lane: Lane | None) -> BoardRow:
    """The task, with its lane where it runs."""
    live = lane if view.status is _S.IN_PROGRESS else None
    return BoardRow(
        id=view.id,
        title=view.title,
        status=view.status,
        group=group_of(view.status),
        weight=view.weight,
        priority=view.priority,
        phase=view.phase,
        iteration=view.iteration,
        phases=tuple(_mark(view, phase) for phase in view.phases),
        code=view.code,
        message=view.message,
        resumes_at=view.resumes_at,
        created_at=view.created_at,
        updated_at=view.updated_at,
        usage=view.usage,
        cost_usd=view.cost_usd,
        pipeline=view.pipeline,
        step=view.step,
        waits_for=view.waits_for,
        not_before=view.not_before,
        doing=live.doing if live else "",
        since=rfc3339(live.since) if live else None,
        tokens=view.usage.total + (live.live.total if live else 0),
        asks=_ASKS_BY_CODE.get((view.status, view.code)) or _ASKS.get(view.status),
        result=(view.pr_url or view.output_path or view.branch) if group_of(view.status) == "done" else None,
    )


def _mark(view: TaskView, phase: PhaseView) -> PhaseMark:
    """The phase that a running task is in runs, though nothing of it may have ended yet."""
    runs = view.status is _S.IN_PROGRESS and phase.id == view.phase and phase.status == "pending"
    return PhaseMark(phase.id, "running" if runs else phase.status)


def view_counts(counts: Mapping[str, int], left: int) -> Counts:
    """By group; `left` of those in progress are carried by nobody, and wait."""
    found = dict.fromkeys(GROUPS, 0)
    for status, count in counts.items():
        found[group_of(status)] += count
    return Counts(**found | {"running": found["running"] - left, "waiting": found["waiting"] + left})


def statuses_of(group: Group | None, named: Iterable[str]) -> tuple[str, ...]:
    """The statuses that a query means, for the store: () are all, and no task has the empty word."""
    wanted = set(named)
    if not group and not wanted:
        return ()
    found = [
        status for status in _S if group in (None, group_of(status)) and (not wanted or status in wanted)
    ]
    return tuple(found) or ("",)
