"""A task, as printed by `show --json` (ostler.task/1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from pathlib import Path

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from ostler.clock import format_rfc3339
from ostler.errors import Code
from ostler.model.attempt import Attempt, Billing, CostSource, TaskRow
from ostler.model.event import CallEnded, Record, Verdict
from ostler.model.ids import TaskId
from ostler.model.limits.window_change import WindowChange
from ostler.model.plan import MERGE, GateType
from ostler.model.policy.sandbox import RefusalKind, RefusedAccess, SandboxRecord
from ostler.model.rows import decode_state
from ostler.model.state import GateCheck, GateObstacle, GateState, GateVerdict, NamedGate, State
from ostler.model.status import TERMINAL, TaskStatus
from ostler.model.task import Task
from ostler.model.usage import Usage, add_cost
from ostler.model.warning import LeftFiles, WarningDetail, describe_warnings
from ostler.views.accept import AcceptChoice, ConflictView, view_conflict
from ostler.views.lists.groups import Section, section_of
from ostler.views.verdicts import Verdicts, view_verdicts


class GateView(Struct, frozen=True):
    type: GateType
    verdict: GateVerdict
    reason: str
    sha: str | None
    by: str | None = None  # person who decided, or "a timeout"
    original: GateVerdict | None = None  # verdict that this person overruled
    check: GateCheck | None = None  # how a command gate was run
    guarded: tuple[str, ...] = ()  # changed files that only a person approves
    cause: GateObstacle | None = None  # why it could not run
    checks: tuple[str, ...] = ()  # quality checks that the verdict includes


class NamedGateView(Struct, frozen=True):
    """A gate that is no phase of the task, or the one before publishing."""

    name: str
    gate: GateView


class PhaseView(Struct, frozen=True):
    id: str
    status: str
    iterations: int
    commit: str | None
    gate: GateView
    retries: int = 0  # number of times that its gate or a person sent the work back


class AttemptView(Struct, frozen=True):
    number: int
    phase: str
    iteration: int
    executor: str
    model: str | None
    session_id: str | None
    resumed: bool
    started_at: str
    duration_ms: int | None
    exit_code: int | None
    status: str
    code: Code | None
    message: str
    usage: Usage
    cost_usd: float | None
    cost_source: CostSource
    billing: Billing
    transcript: str
    account: str | None = None  # whose windows it used
    windows: tuple[WindowChange, ...] = ()  # use of the provider's windows during the attempt
    sandbox: SandboxRecord | None = None  # null: it did not start, or an older version wrote it
    permissions: str | None = None  # that the agent got
    template: str | None = None  # of its prompt: a file, a key of the settings or of the task, or built-in
    verdict: Verdict | None = None  # what the call meant for its phase; null: another attempt followed
    reason: str = ""  # of that verdict


class PredecessorView(Struct, frozen=True):
    """A task whose work this one starts from."""

    task: str
    commit: str
    merged: bool  # the target contained it when this task started


class RefusedView(Struct, frozen=True):
    """Accesses to one target that the sandbox refused."""

    kind: RefusalKind
    target: str
    setting: str  # that would allow it; empty: none
    count: int
    text: str


class GivenView(Struct, frozen=True):
    """Fields that a task sets for its agents; null: as in the settings."""

    role: str
    executor: str | None
    model: str | None
    tier: str | None
    feature: str | None
    tags: tuple[str, ...]
    budget_usd: float | None
    timeout_seconds: float | None
    max_retries: int | None
    label: str | None = None  # of the workers that may run the task


class TaskView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.task/1"
    id: str
    title: str
    status: TaskStatus
    weight: str
    priority: str
    pool: str | None = None  # the worker pool of its agents; null in lists
    given: GivenView | None = None  # what the task itself sets; null in lists
    phase: str
    iteration: int
    branch: str | None
    base: str | None = None  # the commit that the branch starts from
    target: str | None = None  # the branch to merge into
    builds_on: tuple[PredecessorView, ...] = ()
    commit: str | None
    worktree: str | None
    host: str | None = None  # of the worker that claimed it last, on several machines
    output_path: str | None = None
    pr_url: str | None = None
    published_into: str | None = None  # the branch that has the work, or the base of its pull request
    session_id: str | None
    code: Code | None
    message: str
    warnings: tuple[str, ...]
    warning_texts: tuple[str, ...] = ()  # each warning with its explanation
    warning_details: tuple[WarningDetail, ...] = ()
    left: LeftFiles | None = None  # files that no commit contains, and where they are
    sandbox: SandboxRecord | None = None  # of the last attempt
    permissions: str | None = None  # that the agent of the last attempt got
    refused: tuple[RefusedView, ...] = ()  # accesses that the sandbox refused, each once
    resumes_at: str | None
    usage: Usage
    cost_usd: float | None
    created_at: str
    updated_at: str
    after: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()  # tasks of `after` that are not completed
    not_before: str | None = None
    queued_at: str | None = None  # the time that counts for its place in the queue; null: of its creation
    pipeline: str | None = None  # the pipeline run of the task
    step: str | None = None  # the name of the step in that run
    proposed_by: str | None = None  # the task whose agent created it
    held: bool = False  # a proposal that waits for a person
    cancel_requested: bool = False  # the next run ends it
    obstacle: GateObstacle | None = None  # why a gate could not run, after GATE_UNRUNNABLE
    login_command: str | None = None  # logs in to the agent, after AUTH_FAILED
    changed_files: tuple[str, ...] = ()  # files of the task that a person changed, in words
    archived_at: str | None = None  # lists leave it out since then
    purged_at: str | None = None  # its files are deleted since then
    removed_at: str | None = None  # only in the result of `ostler rm`
    hold: str | None = None  # why a run does not start it: a window of its account is nearly used
    waiting: str | None = None  # what a running task waits for: a slot, memory, the next retry
    phases: tuple[PhaseView, ...]
    gates: tuple[NamedGateView, ...] = ()  # of the final commit: those that are no phase, and "merge"
    verdicts: Verdicts | None = None  # of the gates about the last commit; null without a commit
    conflict: ConflictView | None = None  # that blocks the task; null in lists
    can_undo: bool = False  # its last approval or request can be taken back
    requested: str | None = None  # how a person asked to publish the work: merge, pr or rebase
    accept: tuple[AcceptChoice, ...] = ()  # what can be done with completed work; empty in lists
    pending_settings: tuple[str, ...] = ()  # looser settings that the task does not use yet
    attempts: tuple[AttemptView, ...] = ()


def view_task(
    row: TaskRow,
    attempts: list[Attempt],
    abandoned: bool,
    unmet: tuple[TaskId, ...] = (),
    login: str = "",
    calls: Mapping[str, CallEnded] | None = None,
    locate: Callable[[str], Path] = Path,
    records: Iterable[Record] = (),
) -> TaskView:
    """Return the view of a task.

    `abandoned`: the run of a task in progress has died, and the next run resumes the task. `unmet` are the
    tasks that must be completed first. `login` logs in to the agent that refused the task. `calls` are the
    calls that ended, by their step. `locate` returns the path of a recorded worktree. `records` are those of
    the task, of which the last failure names the files with conflicts.
    """
    state = decode_state(row)
    confined = next((one for one in reversed(attempts) if one.sandbox), state)
    alive = state.status is TaskStatus.IN_PROGRESS and not abandoned
    last = {one.step: one for one in attempts}
    worktree = str(locate(state.worktree)) if state.worktree else None
    return TaskView(
        id=state.task,
        title=state.title,
        status=TaskStatus.PENDING if abandoned else state.status,
        weight=state.weight,
        priority=state.priority,
        phase=state.current.id,
        iteration=state.shown_iteration,
        branch=state.branch,
        base=state.base,
        target=state.target,
        builds_on=tuple(PredecessorView(one.task, one.commit, one.merged) for one in state.predecessors),
        commit=state.commit,
        worktree=worktree,
        host=state.host or None,
        output_path=state.output,
        pr_url=state.pr_url,
        published_into=state.published_into or None,
        session_id=_session(state, attempts),
        code=Code.INTERRUPTED if abandoned else state.code,
        message="the run died; the next run resumes the task" if abandoned else state.message,
        warnings=state.warnings,
        warning_texts=describe_warnings(state),
        warning_details=state.warning_details,
        left=state.left,
        sandbox=confined.sandbox,
        permissions=confined.permissions or None,
        resumes_at=_time(state.resumes_at),
        usage=sum((one.usage for one in attempts), Usage()) if attempts else state.usage,
        cost_usd=reduce(add_cost, (one.cost_usd for one in attempts)) if attempts else state.cost_usd,
        created_at=format_rfc3339(state.created_at),
        updated_at=format_rfc3339(state.updated_at),
        after=state.after,
        waits_for=() if state.status in TERMINAL else unmet,
        not_before=_time(state.not_before),
        queued_at=_time(state.queued_at),
        pipeline=state.pipeline.run if state.pipeline else None,
        step=state.pipeline.step if state.pipeline else None,
        proposed_by=state.proposed_by or None,
        held=state.held and state.status is TaskStatus.NEEDS_REVIEW,
        cancel_requested=state.cancel_requested and state.status not in TERMINAL,
        obstacle=_find_obstacle(state),
        login_command=login or None,
        archived_at=_time(state.archived_at),
        purged_at=_time(state.purged_at),
        removed_at=_time(state.removed_at),
        phases=tuple(_phase(state, index) for index in range(len(state.phases))),
        gates=_named_gates(state),
        verdicts=view_verdicts(state),
        conflict=view_conflict(state, records, worktree),
        can_undo=state.undoable is not None,
        requested=state.requested_publishing if state.status not in TERMINAL else None,
        attempts=tuple(
            _attempt(
                attempt,
                alive and attempt is attempts[-1],
                (calls or {}).get(attempt.step) if attempt is last[attempt.step] else None,
            )
            for attempt in attempts
        ),
    )


def section_of_view(view: TaskView) -> Section:
    hidden = view.archived_at or view.purged_at
    return section_of(view.status, view.code, needs_nobody=view.cancel_requested or hidden is not None)


def find_calls(records: Iterable[Record]) -> dict[str, CallEnded]:
    """Return the calls of a task that ended, by their step."""
    return {one.step: one.event for one in records if isinstance(one.event, CallEnded)}


def add_refused(view: TaskView, refused: tuple[RefusedAccess, ...]) -> TaskView:
    """Return the view with what the sandbox of the task refused."""
    shown = tuple(RefusedView(one.kind, one.target, one.setting, one.count, one.text) for one in refused)
    return replace(view, refused=shown)


def add_given(view: TaskView, task: Task) -> TaskView:
    """Return the view with what the task sets for its agents."""
    names = (task.executor or None, task.model or None, task.tier or None, task.feature or None)
    limits = (task.budget_usd, task.timeout_seconds, task.max_retries)
    return replace(view, given=GivenView(task.role, *names, task.tags, *limits, task.label or None))


def as_json(view: TaskView, attempts: bool = True) -> dict[str, object]:
    shown: dict[str, object] = to_builtins(view)
    if not attempts:
        del shown["attempts"]
    return shown


def _time(at: float | None) -> str | None:
    return format_rfc3339(at) if at is not None else None


def _session(state: State, attempts: list[Attempt]) -> str | None:
    """Return the session of the current phase: of the call that runs or was killed, or of the last one."""
    if state.status in TERMINAL:
        return None
    own = [one.session_id for one in attempts if one.phase == state.current.id and one.status == "running"]
    return (own[-1] if own else state.session_id) or None


def _phase(state: State, index: int) -> PhaseView:
    phase = state.phases[index]
    planned = state.baseline.gate(phase.id).type if state.protection else state.plan.phases[index].gate.type
    by_person = state.review_requested and index == state.phase
    gate_state = phase.gate or GateState("pending")
    gate = _gate("human" if by_person else gate_state.type or planned, gate_state)
    status = phase.status
    if index == state.phase and state.status in (TaskStatus.FAILED, TaskStatus.QUARANTINED):
        status = "failed"  # the core keeps it open for a retry
    return PhaseView(phase.id, status, phase.iterations, phase.commit, gate, phase.returns)


def _named_gates(state: State) -> tuple[NamedGateView, ...]:
    merge = (NamedGate(MERGE, state.merge),) if state.merge else ()
    return tuple(
        NamedGateView(one.name, _gate(one.gate.type or _planned_type(state, one.name), one.gate))
        for one in (*state.gates, *merge)
    )


def _find_obstacle(state: State) -> GateObstacle | None:
    """Return why the gate that blocks the task could not run."""
    if state.code is not Code.GATE_UNRUNNABLE:
        return None
    gates = (*(one.gate for one in state.phases), *(one.gate for one in state.gates), state.merge)
    return next((one.cause for one in gates if one and one.verdict == "could_not_run"), None)


def _planned_type(state: State, name: str) -> GateType:
    """Return the type of a gate whose verdict an older version recorded."""
    return state.plan.merge_gate.type if name == MERGE else state.baseline.gate(name).type


def _gate(kind: GateType, gate: GateState) -> GateView:
    view = GateView(kind, gate.verdict, gate.reason, gate.sha, gate.by or None, gate.original, gate.check)
    return replace(view, guarded=gate.guarded, cause=gate.cause, checks=gate.checks)


def _attempt(attempt: Attempt, alive: bool, call: CallEnded | None) -> AttemptView:
    """Return the view of an attempt; one without an end is interrupted unless it is still running."""
    if attempt.status == "running" and not alive:
        attempt = replace(attempt, status="interrupted", code=Code.INTERRUPTED)
    ended = None if attempt.status == "running" else call  # a resumed call has the end of its earlier attempt
    return AttemptView(
        number=attempt.number,
        phase=attempt.phase,
        iteration=attempt.iteration,
        executor=attempt.executor,
        model=attempt.model or None,
        session_id=attempt.session_id or None,
        resumed=attempt.resumed,
        started_at=format_rfc3339(attempt.started_at),
        duration_ms=attempt.duration_ms,
        exit_code=attempt.exit_code,
        status=attempt.status,
        code=attempt.code,
        message=attempt.message,
        usage=attempt.usage,
        cost_usd=attempt.cost_usd,
        cost_source=attempt.known_cost_source,
        billing=attempt.billing,
        transcript=attempt.transcript,
        account=attempt.account or None,
        windows=attempt.windows,
        sandbox=attempt.sandbox,
        permissions=attempt.permissions or None,
        template=attempt.template or None,
        verdict=ended.verdict if ended else None,
        reason=ended.message if ended else "",
    )
