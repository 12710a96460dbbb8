"""A page of tasks, each with its next step (ostler.board/1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ostler.clock import format_rfc3339
from ostler.errors import Code
from ostler.model.policy.needs import URGENT
from ostler.model.status import TaskStatus
from ostler.model.usage import Usage
from ostler.model.warning import describe_warnings
from ostler.views.accept import AcceptChoice
from ostler.views.lists.groups import GROUPS, Group, group_of
from ostler.views.lists.lanes import Lane
from ostler.views.next_step import Asks, advise, situation_of
from ostler.views.result import ChangeSize, GateTick, tick_gates
from ostler.views.task import PhaseView, TaskView

_S = TaskStatus


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
    warnings: tuple[str, ...]  # each with its meaning
    resumes_at: str | None
    created_at: str
    updated_at: str
    usage: Usage
    cost_usd: float | None
    pipeline: str | None
    step: str | None
    waits_for: tuple[str, ...]
    not_before: str | None
    queued_at: str | None  # the time that counts for its place in the queue; null: of its creation
    activity: str  # the last action of a running task
    since: str | None  # when a run claimed it
    tokens: int  # includes the running attempt
    asks: Asks | None  # the decision that a person can make
    next_step: str  # the commands to type
    result: str | None  # a pull request, a document's path, or the branch
    output_path: str | None = None  # the document that it writes
    held: bool = False  # a proposal that waits for a person
    verdicts: str = ""  # what the gates decided about the last commit
    can_undo: bool = False  # its last approval or request can be taken back
    requested: str | None = None  # how a person asked to publish the work: merge, pr or rebase
    pr_url: str | None = None
    published_into: str | None = None  # the branch that has the work, or the base of its pull request
    diffstat: ChangeSize | None = None  # of completed and of waiting work; null: no commit, or it is gone
    gates: tuple[GateTick, ...] = ()  # of the same tasks
    accept: tuple[AcceptChoice, ...] = ()  # what can be done with completed work


class Counts(Struct, frozen=True):
    """The number of tasks in each group."""

    needs_you: int = 0
    running: int = 0
    waiting: int = 0
    done: int = 0
    ended: int = 0
    paused: int = 0  # by a person; they wait for nothing


class BoardView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.board/1"
    tasks: tuple[BoardRow, ...]
    counts: Counts
    total: int  # number of tasks that match the query
    next: str | None  # cursor of the next page
    position: int  # position of the feed before the tasks were read


def view_row(view: TaskView, lane: Lane | None) -> BoardRow:
    """Return the row of a task; `lane` is its activity while it runs."""
    advice = advise(situation_of(view))
    live = lane if view.status is _S.IN_PROGRESS else None
    group = group_of(view.status)
    return BoardRow(
        id=view.id,
        title=view.title,
        status=view.status,
        group=group,
        weight=view.weight,
        priority=view.priority,
        phase=view.phase,
        iteration=view.iteration,
        phases=tuple(_mark(view, phase) for phase in view.phases),
        code=view.code,
        message=view.message,
        warnings=describe_warnings(view),
        resumes_at=view.resumes_at,
        created_at=view.created_at,
        updated_at=view.updated_at,
        usage=view.usage,
        cost_usd=view.cost_usd,
        pipeline=view.pipeline,
        step=view.step,
        waits_for=view.waits_for,
        not_before=view.not_before,
        queued_at=view.queued_at,
        activity=live.activity if live else "",
        since=format_rfc3339(live.since) if live else None,
        tokens=view.usage.total + (live.live.total if live else 0),
        asks=advice.asks,
        next_step=advice.text,
        result=(view.pr_url or view.output_path or view.branch) if group == "done" else None,
        output_path=view.output_path,
        held=view.held,
        verdicts=view.verdicts.text if view.verdicts else "",
        can_undo=view.can_undo,
        requested=view.requested,
        pr_url=view.pr_url,
        published_into=view.published_into,
        gates=tick_gates(view) if group == "done" else (),
    )


def _mark(view: TaskView, phase: PhaseView) -> PhaseMark:
    """Return the status of a phase; the current phase of a running task is running from the start."""
    runs = view.status is _S.IN_PROGRESS and phase.id == view.phase and phase.status == "pending"
    return PhaseMark(phase.id, "running" if runs else phase.status)


def view_counts(counts: Mapping[str, int], left: int, needs: Mapping[str, int]) -> Counts:
    """Return the counts by group; `left` tasks in progress have no active run and count as waiting.

    `needs` are the numbers of tasks by what they need from a person: a failed task needs one too.
    """
    found = dict.fromkeys(GROUPS, 0)
    for status, count in counts.items():
        found[group_of(status)] += count
    urgent = sum(needs.get(kind, 0) for kind in URGENT)
    found |= {"running": found["running"] - left, "waiting": found["waiting"] + left, "needs_you": urgent}
    return Counts(**found, paused=needs.get("paused", 0))


def statuses_of(group: Group | None, named: Iterable[str]) -> tuple[str, ...]:
    """Return the statuses that a query selects: () for all, ("",) for none."""
    selected = set(named)
    if not group and not selected:
        return ()
    found = [
        status for status in _S if group in (None, group_of(status)) and (not selected or status in selected)
    ]
    return tuple(found) or ("",)
