"""What a record makes of a state. Every record is kept; one that changes nothing only counts."""

from __future__ import annotations

from typing import assert_never

from msgspec import Raw
from msgspec.structs import replace

from ostler.errors import Code
from ostler.model.event import (
    CallEnded,
    CheckpointMade,
    DecisionRecorded,
    Record,
    StepFailed,
    TaskBlocked,
    TaskCancelled,
    TaskClaimed,
    TaskCompleted,
    TaskCreated,
    TaskDeferred,
    TaskFailed,
    TaskPaused,
    TaskReleased,
    TaskReopened,
    TaskStarted,
    WorkspaceReleased,
)
from ostler.model.state import Ending, PhaseState, PhaseStatus, Stage, State
from ostler.model.status import REOPENABLE, TERMINAL, TaskStatus, may_become
from ostler.model.usage import add_cost

_FAILURES_BEFORE_QUARANTINE = 3


class OutOfOrder(Exception):
    """A record that is not the next of its task, or that no decision could have led to."""


def begin(record: Record) -> State:
    """The state after a task's first record."""
    created = record.event
    if record.seq != 1 or not isinstance(created, TaskCreated):
        raise OutOfOrder(f"{record.task}: the first record must be task_created, with seq 1")
    task = created.task
    return State(
        task=record.task,
        seq=1,
        rules=created.rules,
        title=task.title,
        weight=task.weight,
        priority=task.priority,
        created_at=record.at,
        updated_at=record.at,
        plan=created.plan,
        phases=tuple(PhaseState(phase.id) for phase in created.plan.phases),
        session_seed=created.session_seed,
    )


def evolve(state: State, record: Record) -> State:
    """The state after one more record."""
    if record.seq != state.seq + 1 or record.task != state.task:
        raise OutOfOrder(f"{record.task}: record {record.seq} does not follow {state.task} {state.seq}")
    return replace(_fold(state, record), seq=record.seq, updated_at=record.at)


def fold(records: list[Record]) -> State:
    """The state after all of a task's records."""
    state = begin(records[0])
    for record in records[1:]:
        state = evolve(state, record)
    return state


def _fold(state: State, record: Record) -> State:
    event = record.event
    match event:
        case TaskClaimed():
            return _claimed(state)
        case TaskStarted():
            found = replace(state, worktree=event.worktree, branch=event.branch, base=event.base)
            return replace(found, stage=Stage.READY)
        case CallEnded():
            return _called(state, event)
        case CheckpointMade():
            return _checkpointed(state, event)
        case StepFailed():
            return replace(state, ending=Ending(TaskStatus.FAILED, event.code, event.message))
        case TaskReleased():
            return _rests(state, TaskStatus.PENDING, Code.INTERRUPTED, event.message)
        case TaskDeferred():
            resting = _rests(state, TaskStatus.DEFERRED, event.code, event.message)
            return replace(resting, resumes_at=event.resumes_at, call=state.call + 1)
        case TaskPaused():
            return _rests(state, TaskStatus.PAUSED, event.code, event.message)
        case TaskBlocked():
            return _rests(state, TaskStatus.BLOCKED, event.code, event.message)
        case TaskCompleted() | TaskFailed() | TaskCancelled():
            return _ended(state, event)
        case WorkspaceReleased():
            return replace(state, stage=Stage.CLOSED, worktree=state.worktree if event.kept else None)
        case TaskReopened():
            return _reopened(state)
        case DecisionRecorded():
            return state if state.status in TERMINAL else replace(state, cancel=True)
        case TaskCreated():
            raise OutOfOrder(f"{state.task}: created twice")
        case Raw():
            return state
        case _:
            assert_never(event)


def _claimed(state: State) -> State:
    stage = Stage.NEW if state.stage is Stage.READY else state.stage
    claimed = replace(state, claims=state.claims + 1, stage=stage, code=None, message="", resumes_at=None)
    return claimed if state.status is TaskStatus.IN_PROGRESS else _becomes(claimed, TaskStatus.IN_PROGRESS)


def _called(state: State, event: CallEnded) -> State:
    heard = replace(
        state,
        session_id=event.session_id,
        answer=event.answer or state.answer,
        warnings=(*state.warnings, *(w for w in event.warnings if w not in state.warnings)),
        usage=state.usage + event.usage,
        cost_usd=add_cost(state.cost_usd, event.cost_usd),
    )
    match event.verdict:
        case "complete":
            return replace(_in_phase(heard, "running", 0, None), stage=Stage.ANSWERED)
        case "continue":
            return _goes_on(_in_phase(heard, "running", 1, None), event)
        case "blocked":
            return _will_end(heard, event, TaskStatus.BLOCKED, Code.AGENT_BLOCKED)
        case "failed":
            return _will_end(heard, event, TaskStatus.FAILED, Code.UNKNOWN)
        case "deferred":
            return _will_end(heard, event, TaskStatus.DEFERRED, Code.RATE_LIMITED)
        case "paused":
            return _will_end(heard, event, TaskStatus.PAUSED, Code.BUDGET_EXCEEDED)
        case "interrupted":
            return heard
        case _:
            assert_never(event.verdict)


def _goes_on(state: State, event: CallEnded) -> State:
    used = state.phases[state.phase].iterations
    if used < state.current.max_iterations:
        return replace(state, call=1)
    message = f"{event.phase} used all {used} iterations without saying that it is complete"
    return replace(state, ending=Ending(TaskStatus.PAUSED, Code.ITERATION_LIMIT, message))


def _will_end(state: State, event: CallEnded, status: TaskStatus, code: Code) -> State:
    return replace(state, ending=Ending(status, event.code or code, event.message, event.resumes_at))


def _checkpointed(state: State, event: CheckpointMade) -> State:
    done = replace(_in_phase(state, "completed", 1, event.commit), commit=event.commit)
    if state.phase + 1 == len(state.phases):
        return replace(done, stage=Stage.DONE, phase=state.phase)
    return replace(done, stage=Stage.READY, phase=state.phase + 1, call=1, session_id="")


def _ended(state: State, event: TaskCompleted | TaskFailed | TaskCancelled) -> State:
    ended = replace(state, stage=Stage.ENDED, session_id="", ending=None, resumes_at=None)
    match event:
        case TaskCompleted():
            return _becomes(replace(ended, code=None, message=""), TaskStatus.COMPLETED)
        case TaskCancelled():
            return _becomes(replace(ended, code=Code.ABORTED, message=event.message), TaskStatus.CANCELLED)
        case TaskFailed():
            failed = replace(ended, code=event.code, message=event.message, failures=state.failures + 1)
            again = failed.failures >= _FAILURES_BEFORE_QUARANTINE
            return _becomes(failed, TaskStatus.QUARANTINED if again else TaskStatus.FAILED)
        case _:
            assert_never(event)


def _rests(state: State, status: TaskStatus, code: Code | None, message: str) -> State:
    return _becomes(replace(state, code=code, message=message, ending=None), status)


def _reopened(state: State) -> State:
    if state.status not in REOPENABLE:
        return state
    fresh = replace(state, round=state.round + 1, stage=Stage.NEW, phase=0, call=1, session_id="", answer="")
    fresh = replace(fresh, phases=tuple(PhaseState(phase.id) for phase in state.plan.phases))
    fresh = replace(fresh, cancel=False, ending=None, resumes_at=None, code=None, message="", warnings=())
    return replace(fresh, status=TaskStatus.PENDING)


def _becomes(state: State, status: TaskStatus) -> State:
    if not may_become(state.status, status):
        raise OutOfOrder(f"{state.task}: {state.status} cannot become {status}")
    return replace(state, status=status)


def _in_phase(state: State, status: PhaseStatus, more: int, commit: str | None) -> State:
    phases = list(state.phases)
    now = phases[state.phase]
    phases[state.phase] = replace(
        now, status=status, iterations=now.iterations + more, commit=commit or now.commit
    )
    return replace(state, phases=tuple(phases))
