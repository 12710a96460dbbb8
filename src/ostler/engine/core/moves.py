"""How a task moves through its phases: on, back, and past a gate."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from ostler.errors import Code
from ostler.model.event import GateDecided
from ostler.model.plan import Gate
from ostler.model.state import Ending, GateState, PhaseState, PhaseStatus, Stage, State
from ostler.model.status import TaskStatus

_STUCK_AFTER = 3
_LEFT = ("completed", "skipped")
_HOME = "implement"


def in_phase(state: State, status: PhaseStatus, more: int = 0, commit: str | None = None) -> State:
    """The current phase with this status and so many more iterations."""
    now = state.phases[state.phase]
    after = replace(now, status=status, iterations=now.iterations + more, commit=commit or now.commit)
    return with_phase(state, state.phase, after)


def with_phase(state: State, index: int, phase: PhaseState) -> State:
    return replace(state, phases=(*state.phases[:index], phase, *state.phases[index + 1 :]))


def gate_of(state: State) -> Gate:
    """What the current phase has to pass; an agent may ask for a person's eye."""
    return Gate("human") if state.asks_review else state.current.gate


def after_checkpoint(state: State) -> State:
    """A phase's work is committed: on to its gate, or past it."""
    if state.phases[state.phase].status == "skipped":
        return advance(state)
    gate = gate_of(state)
    if not gate.passes_by_itself:
        return replace(state, stage=Stage.CHECKING)
    verdict = "skipped" if gate.type == "skip" else "pass"
    return pass_phase(state, GateState(verdict, "", state.commit))


def pass_phase(state: State, gate: GateState) -> State:
    """The current phase is done; what was said about its failures is not said again."""
    phase = replace(state.phases[state.phase], status="completed", gate=gate)
    passed = with_phase(state, state.phase, phase)
    if state.retry_of == phase.id:
        passed = replace(passed, retry_of="", word=0, signatures=())
    if state.again:
        left = tuple(one for one in state.again if one != phase.id)
        passed = replace(passed, again=left, phase=len(state.phases) - 1)
    return advance(replace(passed, asks_review=False))


def advance(state: State) -> State:
    """To the next phase that is left, or to the end of them."""
    for index, phase in enumerate(state.phases):
        if phase.status not in _LEFT:
            return replace(state, stage=Stage.READY, phase=index, call=1, session_id="", answer="")
    return _after_phases(state)


def _after_phases(state: State) -> State:
    state = state if state.again else replace(state, again=_outdated(state))
    if state.again:
        index = state.plan.index(state.again[0])
        return replace(state, stage=Stage.CHECKING, phase=state.phase if index is None else index)
    if not state.plan.merge_gate.passes_by_itself and not _merge_passed(state):
        return replace(state, stage=Stage.MERGING)
    publishes = state.plan.publish != "none" and state.branch is not None
    return replace(state, stage=Stage.PUBLISHING if publishes else Stage.DONE)


def _outdated(state: State) -> tuple[str, ...]:
    """The phases whose gate passed other files than those that the last phase left."""
    pairs = zip(state.plan.phases, state.phases, strict=True)
    return tuple(
        phase.id
        for phase, now in pairs
        if now.status == "completed" and phase.gate.type in ("command", "ai") and _saw_others(now.gate, state)
    )


def _saw_others(said: GateState | None, state: State) -> bool:
    if said is None or said.person or said.verdict != "pass":
        return False
    return bool(said.tree and state.tree and said.tree != state.tree)


def _merge_passed(state: State) -> bool:
    return state.merge is not None and state.merge.verdict in ("pass", "skipped")


def decided(state: State, event: GateDecided) -> State:
    """What a gate's verdict makes of the task."""
    checked = replace(state, checks=state.checks + 1)
    gate = GateState(event.verdict, event.reason, event.sha, event.gate == "human", state.tree)
    match event.verdict:
        case "pass" | "skipped":
            return _passed(checked, gate)
        case "fail":
            return _rejected(_noted(checked, gate), event)
        case "could_not_run":
            ending = Ending(TaskStatus.BLOCKED, Code.GATE_UNRUNNABLE, event.reason)
            return replace(_noted(checked, gate), ending=ending)
        case "pending":
            return checked
        case _:
            assert_never(event.verdict)


def _passed(state: State, gate: GateState) -> State:
    if state.stage is Stage.MERGING:
        return _after_phases(replace(state, merge=gate))
    return pass_phase(state, gate)


def _noted(state: State, gate: GateState) -> State:
    """The gate's word, kept with what it was asked about."""
    if state.stage is Stage.MERGING:
        return replace(state, merge=gate)
    phase = state.phases[state.phase]
    status = "running" if gate.verdict == "fail" else phase.status
    return with_phase(state, state.phase, replace(phase, status=status, gate=gate))


def _rejected(state: State, event: GateDecided) -> State:
    signatures = (*state.signatures, event.signature)[-_STUCK_AFTER:]
    state = replace(state, signatures=signatures)
    word = state.seq + 1
    stuck = event.signature and signatures == (event.signature,) * _STUCK_AFTER
    if (stuck or not may_retry(state)) and state.current.gate.then_person and not state.asks_review:
        return replace(state, asks_review=True)  # the stage stays: the gate is a person's from here on
    if not may_retry(state):
        ending = Ending(TaskStatus.BLOCKED, Code.GATE_REJECTED, event.reason)
        return replace(state, ending=ending, word=word)
    if stuck:
        message = f"{event.phase} failed in the same way {_STUCK_AFTER} times: {event.reason}"
        return replace(state, ending=Ending(TaskStatus.BLOCKED, Code.STUCK, message), word=word)
    return send_back(state, word)


def may_retry(state: State) -> bool:
    """Whether the current phase's failure may send the work back once more."""
    return state.phases[state.phase].retries < state.plan.max_phase_retries


def target_of(state: State) -> int:
    """The phase that the work goes back to when the current one does not pass."""
    wanted = _HOME if state.stage in (Stage.MERGING, Stage.PUBLISHING) else state.current.retry_to
    found = state.plan.index(wanted) if wanted else None
    return state.phase if found is None or found > state.phase else found


def send_back(state: State, word: int) -> State:
    """Do the work again, with the record of number `word` in the next prompt."""
    failed = state.phases[state.phase]
    counted = with_phase(state, state.phase, replace(failed, retries=failed.retries + 1))
    told = replace(counted, word=word, retry_of=failed.id, stage=Stage.READY, call=1, merge=None)
    told = replace(told, asks_review=False, again=(), rebases=0)
    target, last = target_of(state), len(state.phases) - 1 if state.again else state.phase
    if target != last:
        return reset_from(told, target, last)
    again = told.phases[state.phase]
    room = replace(again, status="running", granted=again.granted + again.iterations)
    return with_phase(told, state.phase, room)


def reset_from(state: State, first: int, last: int) -> State:
    """The phases from first to last as if they had not been done; retries and a person's skip stay."""
    fresh = [
        PhaseState(one.id, retries=one.retries)
        if index == first or (first < index <= last and one.status != "skipped")
        else one
        for index, one in enumerate(state.phases)
    ]
    moved = replace(state, phases=tuple(fresh), phase=first, round=state.round + 1, call=1)
    return replace(moved, session_id="", answer="")
