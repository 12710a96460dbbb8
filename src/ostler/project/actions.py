"""What can be done to a task: one table, from which every interface makes its commands, routes and tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from ostler.config.checks.expect import explain_invalid
from ostler.engine.core.decisions import takes_message
from ostler.errors import Code, UsageError
from ostler.model.attempt import Attempt
from ostler.model.event import DecisionRecorded, Event, TaskReopened
from ostler.model.ids import TaskId
from ostler.model.state import Stage, State
from ostler.model.status import EXECUTABLE, REOPENABLE, TERMINAL, TaskStatus
from ostler.project.decisions.accept import ACCEPTANCES
from ostler.project.decisions.action import ONLY_IF_DECIDED, Action, NoParams, NotWaiting, Params, not_allowed
from ostler.project.decisions.dispose import DISPOSALS, require_files

_S = TaskStatus
_PAUSABLE = EXECUTABLE | {_S.IN_PROGRESS, _S.DEFERRED}
_RESUMABLE = frozenset({_S.PAUSED, _S.BLOCKED, _S.DEFERRED})

_Required = Meta(min_length=1, pattern=r"\S")
_Phase = Annotated[str, Meta(max_length=2000, description="The phase; `ostler show` lists them.")]
_Dollars = Annotated[float, Meta(gt=0, le=1e12)]


class ApproveParams(Params, frozen=True):
    text: Annotated[str, Meta(description="A note, recorded with the decision.")] = ""
    then: Annotated[
        Literal["", "merge", "pr"],
        Meta(description="How the approved work is published; empty: by git.on_complete."),
    ] = ""


class RejectParams(Params, frozen=True):
    text: Annotated[str, _Required, Meta(description="What to change; the agent gets this text.")]


class ResumeParams(Params, frozen=True):
    text: Annotated[str, Meta(description="Feedback for the agent, such as the answer to its question.")] = ""


class MessageParams(Params, frozen=True):
    text: Annotated[str, _Required, Meta(description="Message to the agent.")]


class CancelParams(Params, frozen=True):
    reason: Annotated[str, Meta(description="Why; recorded with the task.")] = ""


class RetryParams(Params, frozen=True):
    budget_usd: Annotated[
        _Dollars | None, Meta(description="The new budget in US dollars, including what it has cost so far.")
    ] = None
    model: Annotated[str, Meta(description="The model from now on; empty: unchanged.")] = ""
    executor: Annotated[str, Meta(description="The agent from now on; empty: unchanged.")] = ""


class SkipParams(Params, frozen=True):
    phase: _Phase
    reason: Annotated[str, _Required, Meta(description="Why; recorded with the phase.")]


class RewindParams(Params, frozen=True):
    phase: _Phase
    text: Annotated[str, Meta(description="Feedback for the agent.")] = ""


class KillParams(Params, frozen=True):
    attempt: Annotated[
        int, Meta(ge=0, le=2**31, description="The number of the attempt; 0: the one that runs.")
    ] = 0
    now: Annotated[bool, Meta(description="Kill it at once, without a grace period.")] = False


def decode_params(action: Action, values: dict[str, Any]) -> Params:
    """Return the parameters of an action; raise UsageError for wrong or missing ones."""
    try:
        return msgspec.convert(values, action.params)
    except msgspec.ValidationError as error:
        expected = ", ".join(action.params.__struct_fields__) or "no parameters"
        name, reason = explain_invalid(error)
        message = f"invalid {name} for {action.name}: {reason}" if name else f"{action.name}: {reason}"
        raise UsageError(message, f"expected {expected}") from None


def find_action(name: str) -> Action:
    """Return an action by name; raise UsageError for an unknown one."""
    if name not in ACTIONS:
        raise UsageError(f"unknown action {name!r:.80}", f"use one of {', '.join(ACTIONS)}")
    return ACTIONS[name]


def _approve(state: State, params: ApproveParams) -> Event:
    _require_decision(state)
    if params.then and (state.held or state.stage is Stage.PUBLISHING or state.branch is None):
        raise not_allowed(state, "this approval is not about work that can be published")
    return DecisionRecorded("approve", params.text, then=params.then)


def _reject(state: State, params: RejectParams) -> Event:
    _require_decision(state)
    return DecisionRecorded("reject", params.text)


def _resume(state: State, params: ResumeParams) -> Event:
    if state.status is _S.NEEDS_REVIEW:
        raise _needs_review(state)
    if state.status in REOPENABLE & TERMINAL:
        raise UsageError(f"{state.task} is {state.status}", f"reopen it: ostler retry {state.task}")
    if state.status not in _RESUMABLE and not (state.pause_requested and state.status is _S.IN_PROGRESS):
        raise not_allowed(state, "there is nothing to resume")
    return DecisionRecorded("resume", params.text)


def _message(state: State, params: MessageParams) -> Event:
    if state.status is _S.NEEDS_REVIEW:
        raise _needs_review(state)
    if state.status in _RESUMABLE or state.pause_requested:
        raise not_allowed(state, "no agent runs", f"ostler resume {state.task} -m TEXT")
    if not takes_message(state):
        raise not_allowed(state, "no agent works on it at the moment, so none can read a message")
    return DecisionRecorded("message", params.text)


def _retry(state: State, params: RetryParams) -> Event:
    if state.status is _S.NEEDS_REVIEW:
        raise _needs_review(state)
    if state.status not in REOPENABLE:
        raise not_allowed(state, "there is nothing to retry")
    require_files(state, "retried")
    if state.status is _S.BLOCKED and state.code is Code.GATE_UNRUNNABLE and params == RetryParams():
        # The work is done and was not judged: only the gate runs again.
        return DecisionRecorded("resume")
    return TaskReopened(budget_usd=params.budget_usd, model=params.model, executor=params.executor)


def _pause(state: State, params: NoParams) -> Event:
    if state.status not in _PAUSABLE:
        raise not_allowed(state, "there is nothing to pause")
    return DecisionRecorded("pause")


def _cancel(state: State, params: CancelParams) -> Event:
    if state.status in TERMINAL and state.status is not _S.CANCELLED:
        raise not_allowed(state, "there is nothing to cancel")
    return DecisionRecorded("cancel", params.reason)


def _kill(state: State, params: KillParams) -> Event:
    if state.status is not _S.IN_PROGRESS:
        raise not_allowed(state, "no attempt of it runs")
    return DecisionRecorded("kill", attempt=params.attempt, now=params.now)


def name_attempt(task: TaskId, params: KillParams, running: Sequence[Attempt]) -> KillParams:
    """Return the parameters with the number of a running attempt."""
    numbers = [attempt.number for attempt in running]
    if params.attempt in numbers:
        return params
    ids = "   or   ".join(f"ostler kill {task}:{number}" for number in numbers) or "ostler ps"
    if params.attempt:
        raise UsageError(f"attempt {params.attempt} of {task} does not run", ids)
    if len(numbers) != 1:
        raise UsageError(f"{task} runs {len(numbers) or 'no'} attempts", ids)
    return replace(params, attempt=numbers[0])


def _skip(state: State, params: SkipParams) -> Event:
    _require_accepted(state)
    index = _require_phase(state, params.phase)
    if state.status in TERMINAL:
        raise not_allowed(state, "there is nothing to skip")
    if state.phases[index].status in ("completed", "skipped"):
        raise UsageError(
            f"{params.phase} of {state.task} is {state.phases[index].status}",
            f"ostler rewind {state.task} --to PHASE",
        )
    return DecisionRecorded("skip", params.reason, params.phase)


def _rewind(state: State, params: RewindParams) -> Event:
    _require_accepted(state)
    _refuse_later_phase(state, _require_phase(state, params.phase))
    if state.status is _S.APPROVED:
        raise not_allowed(state, "an approved task cannot be reopened")
    require_files(state, "reopened")
    if state.status in TERMINAL:
        return TaskReopened("rewind", params.phase, params.text)
    return DecisionRecorded("rewind", params.text, params.phase)


def _refuse_later_phase(state: State, index: int) -> None:
    """Raise for a phase after the current one: its result would be older than the work before it."""
    open_phases = (i for i, one in enumerate(state.phases) if one.status not in ("completed", "skipped"))
    current = next(open_phases, len(state.phases) - 1)
    if index > current:
        now, later = state.phases[current].id, state.phases[index].id
        raise UsageError(
            f"{later} of {state.task} is after its current phase {now}: rewind returns to an earlier phase",
            f"ostler skip {state.task} --phase {now} --reason TEXT",
        )


def waits_for_decision(state: State) -> bool:
    """Return whether a gate waits for a person, or failed with no retry left."""
    at_gate = state.status is _S.BLOCKED and state.stage in (Stage.CHECKING, Stage.FINAL, Stage.MERGING)
    return state.status is _S.NEEDS_REVIEW or at_gate


def _require_decision(state: State) -> None:
    if not waits_for_decision(state):
        message = f"{state.task} is {state.status}: it is not waiting for a decision"
        raise NotWaiting(message, f"ostler show {state.task}")


def _require_accepted(state: State) -> None:
    """Raise for a proposal: a person approves it first."""
    if state.held:
        raise _needs_review(state)


def _require_phase(state: State, phase: str) -> int:
    index = state.plan.index(phase)
    if index is None:
        phases = ", ".join(one.id for one in state.plan.phases)
        raise UsageError(f"{state.task} has no phase {phase!r:.80}", f"its phases: {phases}")
    return index


def _needs_review(state: State) -> UsageError:
    hint = f"ostler approve {state.task}   or   ostler reject {state.task} -m TEXT"
    return UsageError(f"{state.task} is waiting for your review", hint)


ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        Action(
            "approve",
            "Approve a task that waits for you",
            "Approve a task that waits for a review, one that is blocked by a gate, or one that an agent "
            "proposed. The next run continues it.",
            ApproveParams,
            _approve,
            "is approved.",
            agent_note=f"The work is then merged or published. {ONLY_IF_DECIDED}",
        ),
        Action(
            "reject",
            "Reject the work and send it back with a reason",
            "Reject the work of a task that waits for you and send it back with a reason, as often as "
            "necessary: that uses up no retry of the phase. A task that an agent proposed is cancelled.",
            RejectParams,
            _reject,
            "is rejected; the work goes back to its agent.",
            _S.REVISION,
            "is {status}.",
            agent_note=ONLY_IF_DECIDED,
        ),
        Action(
            "resume",
            "Resume a paused, blocked or deferred task",
            "Resume a paused, blocked or deferred task; the next run continues it. A task that used all its "
            "iterations gets the same number again. A task that is blocked by a failed dependency continues "
            "without it.",
            ResumeParams,
            _resume,
            "is resumed.",
        ),
        Action(
            "message",
            "Send a message to a running agent",
            "Send a message to a running agent. The agent is stopped, keeps its work, and continues at once "
            "with the message: in the same session if it can resume one, otherwise in a new one with a "
            "summary of the work.",
            MessageParams,
            _message,
            "continues with the message.",
        ),
        Action(
            "retry",
            "Make a failed or cancelled task pending again",
            "Make failed, cancelled, blocked or paused tasks pending again and keep their history. Of a task "
            "whose gate could not run, only the gate runs again.",
            RetryParams,
            _retry,
            "is pending again.",
        ),
        Action(
            "pause",
            "Pause tasks: stop their agents, keep their work",
            "Pause tasks: stop their agents and keep their work and sessions.",
            NoParams,
            _pause,
            "is paused.",
            _S.PAUSED,
            "is being paused.",
        ),
        Action(
            "cancel",
            "Cancel tasks: end them, keep their work",
            "Cancel tasks: stop their agents and keep their work. A completed task that waits to be merged "
            "stays completed; only the merge is cancelled.",
            CancelParams,
            _cancel,
            "is cancelled.",
            _S.CANCELLED,
            "is being cancelled.",
            {_S.COMPLETED: "is completed as before; its merge is cancelled."},
            ends_task=True,
        ),
        Action(
            "kill",
            "Kill a running attempt; its task continues",
            "Kill running attempts: end the agent with all its processes. The task continues: the run "
            "retries the call as after any failure, and resumes the agent's session if it can.",
            KillParams,
            _kill,
            "continues after its attempt is killed.",
            agent_note=ONLY_IF_DECIDED,
            complete=name_attempt,
        ),
        Action(
            "skip",
            "Skip a phase of a task",
            "Skip a phase of a task and keep its work so far.",
            SkipParams,
            _skip,
            "skips {phase}.",
        ),
        Action(
            "rewind",
            "Return a task to an earlier phase",
            "Return a task to the start of a phase: this phase and all later ones run again.",
            RewindParams,
            _rewind,
            "is back at the start of {phase}.",
        ),
        *ACCEPTANCES,
        *DISPOSALS,
    )
}
