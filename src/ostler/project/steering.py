"""What a person's word about a task is written down as, or why it does not fit the task as it stands."""

from __future__ import annotations

from ostler.errors import UsageError
from ostler.model.event import DecisionRecorded, Event, TaskReopened
from ostler.model.state import Stage, State
from ostler.model.status import EXECUTABLE, REOPENABLE, TERMINAL, TaskStatus

_S = TaskStatus
_PAUSABLE = EXECUTABLE | {_S.IN_PROGRESS, _S.DEFERRED}
_RESUMABLE = frozenset({_S.PAUSED, _S.BLOCKED, _S.DEFERRED})


def cancel(state: State, reason: str = "") -> Event:
    if state.status in TERMINAL and state.status is not _S.CANCELLED:
        raise _refusal(state, "there is nothing to cancel")
    return DecisionRecorded("cancel", reason)


def retry(state: State, budget_usd: float | None = None) -> Event:
    if state.status is _S.NEEDS_REVIEW:
        raise _waits_for_a_word(state)
    if state.status not in REOPENABLE:
        raise _refusal(state, "there is nothing to retry")
    return TaskReopened(budget_usd=budget_usd)


def pause(state: State) -> Event:
    if state.status not in _PAUSABLE:
        raise _refusal(state, "there is nothing to pause")
    return DecisionRecorded("pause")


def resume(state: State, text: str = "") -> Event:
    if state.status is _S.NEEDS_REVIEW:
        raise _waits_for_a_word(state)
    if state.status in REOPENABLE & TERMINAL:
        raise UsageError(f"{state.task} is {state.status}", f"ostler retry {state.task}   opens it again")
    if state.status not in _RESUMABLE and not (state.pause and state.status is _S.IN_PROGRESS):
        raise _refusal(state, "there is nothing to resume")
    return DecisionRecorded("resume", text)


def approve(state: State, text: str = "") -> Event:
    _require_question(state)
    return DecisionRecorded("approve", text)


def reject(state: State, text: str) -> Event:
    _require_question(state)
    if not text.strip():
        raise UsageError("a rejection needs a reason, for whoever does it again", "-m TEXT")
    return DecisionRecorded("reject", text)


def skip(state: State, phase: str, reason: str) -> Event:
    index = _require_phase(state, phase)
    if state.status in TERMINAL:
        raise _refusal(state, "there is nothing to skip")
    if state.phases[index].status in ("completed", "skipped"):
        raise UsageError(
            f"{phase} of {state.task} is {state.phases[index].status}",
            f"ostler rewind {state.task} --to PHASE",
        )
    if not reason.strip():
        raise UsageError("a phase is not skipped without a reason", "--reason TEXT")
    return DecisionRecorded("skip", reason, phase)


def rewind(state: State, phase: str, text: str = "") -> Event:
    """A task that has ended is opened again by it."""
    _require_phase(state, phase)
    if state.status is _S.APPROVED:
        raise _refusal(state, "it is not opened again")
    if state.status in TERMINAL:
        return TaskReopened("rewind", phase, text)
    return DecisionRecorded("rewind", text, phase)


def _require_question(state: State) -> None:
    """A gate waits for a person, or has said no with nothing left to try."""
    at_gate = state.status is _S.BLOCKED and state.stage in (Stage.CHECKING, Stage.MERGING)
    if state.status is not _S.NEEDS_REVIEW and not at_gate:
        raise _refusal(state, "it asks for no decision")


def _require_phase(state: State, phase: str) -> int:
    index = state.plan.index(phase)
    if index is None:
        known = ", ".join(one.id for one in state.plan.phases)
        raise UsageError(f"{state.task} has no phase {phase or 'without a name'}", f"its phases are {known}")
    return index


def _waits_for_a_word(state: State) -> UsageError:
    hint = f"ostler approve {state.task}   or   ostler reject {state.task} -m TEXT"
    return UsageError(f"{state.task} waits for your yes or no", hint)


def _refusal(state: State, why: str) -> UsageError:
    return UsageError(f"{state.task} is {state.status}: {why}", f"ostler show {state.task}")
