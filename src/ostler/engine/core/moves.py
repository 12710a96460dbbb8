"""Moves a task through its phases: to the next, back for a retry, and past a gate."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from ostler.engine.core.left import add_details
from ostler.engine.core.no_changes import forget_no_changes, needs_review, request_review
from ostler.engine.core.verdicts import (
    checks_files,
    enter_final_stage,
    find_gate,
    focus_gate,
    has_live_rules,
    name_current_gate,
    replace_phase,
    store_gate,
)
from ostler.errors import Code
from ostler.model.event import CallEnded, Event, GateDecided
from ostler.model.notice import PhaseCompleted, PhaseRetried
from ostler.model.plan import MERGE, Gate
from ostler.model.state import BY_TIMEOUT, Ending, GateState, PhaseState, PhaseStatus, Stage, State
from ostler.model.status import TaskStatus

SESSION_RULES = 3
"""From these rules on, a phase to which the work returns continues its session and its iterations."""

RETURN_RULES = 4
"""From these rules on, feedback about a phase that is blocked goes to the phase whose work it checks."""

REVIEW_RULES = 6
"""From these rules on, work that a person rejects goes back to its agent, whatever retries are left."""

_STUCK_AFTER = 3
_FINISHED = ("completed", "skipped")
_DEFAULT_RETRY_PHASE = "implement"


def update_phase(
    state: State, status: PhaseStatus, added_iterations: int = 0, commit: str | None = None
) -> State:
    """Return the state with a new status of the current phase."""
    now = state.phases[state.phase]
    after = replace(
        now, status=status, iterations=now.iterations + added_iterations, commit=commit or now.commit
    )
    return replace_phase(state, state.phase, after)


def current_gate(state: State) -> Gate:
    """Return the gate of the current phase; a person decides if a review was requested."""
    if state.review_requested:
        return Gate("human")
    return state.baseline.gate(state.current.id) if has_live_rules(state) else state.current.gate


def commits_phase(state: State) -> bool:
    """Return whether the work of the current phase is committed at its end, or with a later phase."""
    last = all(one.status in _FINISHED for one in state.phases[state.phase + 1 :])
    gate = state.baseline.gate(state.current.id) if has_live_rules(state) else state.current.gate
    return state.current.checkpoint or last or checks_files(gate)


def merge_gate(state: State) -> Gate:
    """Return the gate before publishing; a person decides if a review was requested."""
    if state.review_requested:
        return Gate("human")
    return state.baseline.gate(MERGE) if has_live_rules(state) else state.plan.merge_gate


def add_warnings(state: State, new: tuple[str, ...]) -> tuple[str, ...]:
    """Return the warnings of the task with new ones, each once."""
    return (*state.warnings, *(one for one in new if one not in state.warnings))


def continue_after_checkpoint(state: State) -> State:
    """Continue with the gate of the phase, or pass it."""
    if state.phases[state.phase].status == "skipped":
        return advance(state)
    gate = current_gate(state)
    if has_live_rules(state) or not gate.passes_automatically:
        return replace(state, stage=Stage.CHECKING)
    verdict = "skipped" if gate.type == "skip" else "pass"
    return pass_phase(state, GateState(verdict, "", state.commit))


def pass_phase(state: State, gate: GateState) -> State:
    """Complete the current phase and drop the feedback about its failures."""
    phase = replace(state.phases[state.phase], status="completed", gate=gate)
    passed = replace_phase(state, state.phase, phase)
    if state.retry_of == phase.id:
        passed = replace(passed, retry_of="", feedback_seq=0, signatures=())
    if state.recheck_phases:
        left = tuple(one for one in state.recheck_phases if one != phase.id)
        passed = replace(passed, recheck_phases=left, phase=len(state.phases) - 1)
    return advance(replace(passed, review_requested=False))


def advance(state: State) -> State:
    """Continue with the next open phase, or with the steps after the last one."""
    for index, phase in enumerate(state.phases):
        if phase.status not in _FINISHED:
            return replace(state, stage=Stage.READY, phase=index, call=1, session_id="", answer="")
    return _after_phases(state)


def _after_phases(state: State) -> State:
    if has_live_rules(state):
        return enter_final_stage(state)
    state = state if state.recheck_phases else replace(state, recheck_phases=_outdated(state))
    if state.recheck_phases:
        index = state.plan.index(state.recheck_phases[0])
        return replace(state, stage=Stage.CHECKING, phase=state.phase if index is None else index)
    if needs_review(state):
        return replace(request_review(state), stage=Stage.MERGING)
    if not state.plan.merge_gate.passes_automatically and not _is_merge_approved(state):
        return replace(state, stage=Stage.MERGING)
    publishes = state.publishing != "none" and state.branch is not None
    return replace(state, stage=Stage.PUBLISHING if publishes else Stage.DONE)


def _outdated(state: State) -> tuple[str, ...]:
    """Return the phases whose gate passed other files than those of the last commit."""
    pairs = zip(state.plan.phases, state.phases, strict=True)
    return tuple(
        phase.id
        for phase, now in pairs
        if now.status == "completed"
        and phase.gate.type in ("command", "ai")
        and _checked_other_files(now.gate, state)
    )


def _checked_other_files(gate: GateState | None, state: State) -> bool:
    if gate is None or gate.by_person or gate.verdict != "pass":
        return False
    return bool(gate.tree and state.tree and gate.tree != state.tree)


def _is_merge_approved(state: State) -> bool:
    return state.merge is not None and state.merge.verdict in ("pass", "skipped", "overruled")


def apply_gate_decided(state: State, event: GateDecided, *, is_review: bool = False) -> State:
    """Return the state after a gate's verdict; `is_review`: a person sends the work back with a review."""
    if state.stage is Stage.FINAL:
        state = focus_gate(state, event.phase)
    checked = replace(state, checks=state.checks + 1, warnings=add_warnings(state, event.warnings))
    checked = replace(checked, warning_details=add_details(state, event.warning_details))
    gate = _build_gate_state(state, event)
    if event.review:
        # The stage stays the same: a person decides at this gate, with the verdict in view.
        return replace(_store_gate(checked, gate), review_requested=True)
    match event.verdict:
        case "pass" | "skipped" | "overruled" | "not_checked":
            return _pass_gate(checked, gate)
        case "fail":
            by_person = event.gate == "human" and event.by != BY_TIMEOUT
            if by_person and (is_review or state.rules >= REVIEW_RULES):
                return send_back_for_person(_store_gate(checked, gate))
            return _reject(_store_gate(checked, gate), event)
        case "could_not_run":
            ending = Ending(TaskStatus.BLOCKED, Code.GATE_UNRUNNABLE, event.reason)
            return replace(_store_gate(checked, gate), ending=ending)
        case "pending":
            return checked
        case _:
            assert_never(event.verdict)


def _build_gate_state(state: State, event: GateDecided) -> GateState:
    by_person = event.gate == "human" or event.verdict == "overruled"
    gate = GateState(event.verdict, event.reason, event.sha, by_person, state.tree, event.by, event.original)
    asked = find_gate(state, name_current_gate(state))
    guarded = asked.guarded if asked is not None and asked.sha == event.sha else ()
    # A person decides about the result of the checks that have run before.
    decided = by_person or bool(event.by)
    checks = event.checks or (asked.checks if asked is not None and decided else ())
    kind = event.gate if has_live_rules(state) else None
    gate = replace(gate, check=event.check, type=kind, guarded=guarded, cause=event.cause)
    return replace(gate, checks=checks, criteria=event.criteria)


def _pass_gate(state: State, gate: GateState) -> State:
    if state.stage is Stage.MERGING:
        return _after_phases(replace(state, merge=gate, review_requested=False))
    if state.stage is Stage.FINAL:
        stored = store_gate(state, state.final_gate, gate)
        return enter_final_stage(replace(_complete_phase(stored), review_requested=False))
    return pass_phase(state, gate)


def _complete_phase(state: State) -> State:
    """Complete the phase of the gate that was checked last; another gate has none."""
    index = state.plan.index(state.final_gate)
    if index is None:
        return state
    return replace_phase(state, index, replace(state.phases[index], status="completed"))


def _store_gate(state: State, gate: GateState) -> State:
    """Store a verdict with its phase."""
    name = name_current_gate(state)
    if state.plan.index(name) is None:
        return store_gate(state, name, gate)
    phase = state.phases[state.phase]
    status = "running" if gate.verdict == "fail" else phase.status
    return replace_phase(state, state.phase, replace(phase, status=status, gate=gate))


def _reject(state: State, event: GateDecided) -> State:
    signatures = (*state.signatures, event.signature)[-_STUCK_AFTER:]
    state = replace(state, signatures=signatures)
    feedback_seq = state.seq + 1
    stuck = event.signature and signatures == (event.signature,) * _STUCK_AFTER
    if (
        (stuck or not can_retry(state))
        and state.current.gate.escalate_to_person
        and not state.review_requested
    ):
        # The stage stays the same: from here on a person decides at this gate.
        return replace(state, review_requested=True)
    # A publication that was requested with the approval of the work still belongs to the work.
    requested = state.publish_as is not None and (state.completed is not None or state.rules < REVIEW_RULES)
    if requested or not can_retry(state):
        # A person asked for a merge, not for more work: the person decides what follows.
        ending = Ending(TaskStatus.BLOCKED, Code.GATE_REJECTED, event.reason)
        return replace(state, ending=ending, feedback_seq=feedback_seq)
    if stuck:
        message = f"{event.phase} failed with the same error {_STUCK_AFTER} times: {event.reason}"
        return replace(
            state, ending=Ending(TaskStatus.BLOCKED, Code.STUCK, message), feedback_seq=feedback_seq
        )
    return send_back_for_retry(state, feedback_seq)


def can_retry(state: State) -> bool:
    """Return whether the current phase has a retry left."""
    return state.phases[state.phase].retries < state.plan.max_phase_retries


def find_retry_phase(state: State) -> int:
    """Return the index of the phase that repeats the work if the current one does not pass."""
    own_gate = state.stage is Stage.FINAL and state.plan.index(state.final_gate) is not None
    after_phases = state.stage in (Stage.FINAL, Stage.MERGING, Stage.PUBLISHING) and not own_gate
    name = _DEFAULT_RETRY_PHASE if after_phases else state.current.retry_to
    found = state.plan.index(name) if name else None
    return state.phase if found is None or found > state.phase else found


def checks_earlier_work(state: State, name: str) -> bool:
    """Return whether the phase reports its findings as blocked: an earlier phase has to correct them."""
    index = state.plan.index(name)
    back = None if index is None else state.plan.index(state.plan.phases[index].retry_to)
    return index is not None and back is not None and back < index


def send_back_for_person(state: State) -> State:
    """Repeat the work with the decision of a person in the next prompt; that uses up no retry."""
    failed = state.phases[state.phase]
    counted = replace_phase(state, state.phase, replace(failed, rejections=failed.rejections + 1))
    return _send_back(replace(counted, signatures=()), state.seq + 1)


def send_back_for_retry(state: State, feedback_seq: int) -> State:
    """Repeat the work with the record `feedback_seq` in the next prompt."""
    failed = state.phases[state.phase]
    counted = replace_phase(state, state.phase, replace(failed, retries=failed.retries + 1))
    return _send_back(counted, feedback_seq)


def _send_back(state: State, feedback_seq: int) -> State:
    failed = state.phases[state.phase]
    reset = replace(
        state, feedback_seq=feedback_seq, retry_of=failed.id, stage=Stage.READY, call=1, merge=None
    )
    reset = replace(reset, review_requested=False, recheck_phases=(), rebases=0, gates=(), final_gate="")
    # The work changes from here on: nobody has approved what is published.
    reset = replace(reset, completed=None, publish_next=None)
    reset = forget_no_changes(reset)
    rechecks = bool(state.recheck_phases) or state.stage is Stage.FINAL
    target, last = find_retry_phase(state), len(state.phases) - 1 if rechecks else state.phase
    reset = replace(reset, retry_to=state.plan.phases[target].id)
    if target != last:
        return _continue_session(reset_phases(reset, target, last), reset.phases[target])
    phase = reset.phases[state.phase]
    extended = replace(phase, status="running", extra_iterations=phase.extra_iterations + phase.iterations)
    return replace_phase(reset, state.phase, extended)


def reset_phases(state: State, first: int, last: int) -> State:
    """Reset the phases from first to last; retries and skipped phases are kept."""
    fresh = [
        PhaseState(one.id, retries=one.retries, rejections=one.rejections, first_round=state.round + 1)
        if index == first or (first < index <= last and one.status != "skipped")
        else one
        for index, one in enumerate(state.phases)
    ]
    moved = replace(state, phases=tuple(fresh), phase=first, round=state.round + 1, call=1)
    return replace(moved, session_id="", answer="")


def _continue_session(state: State, before: PhaseState) -> State:
    """Continue the session and the count of iterations of the phase to which the work returns."""
    if state.rules < SESSION_RULES:
        return state
    phase = replace(state.phases[state.phase], first_round=before.first_round)
    phase = replace(phase, iterations=before.iterations, extra_iterations=before.iterations)
    return replace_phase(state, state.phase, phase)


def list_returns(before: State, after: State, event: Event) -> tuple[PhaseRetried, ...]:
    """Return a notice if a blocked phase sent the work back; the notice of a gate comes from its step."""
    retries = after.phases[before.phase].retries if before.phase < len(after.phases) else 0
    if not isinstance(event, CallEnded) or retries <= before.phases[before.phase].retries:
        return ()
    returned = PhaseRetried(event.phase, after.current.id, retries, code=event.code, message=event.message)
    return (returned,)


def list_completed_phases(before: State, after: State) -> tuple[PhaseCompleted, ...]:
    """Return a notice for each phase that was completed between two states."""
    done = {one.id for one in before.phases if one.status == "completed"}
    return tuple(
        PhaseCompleted(new.id, new.commit)
        for new in after.phases
        if new.status == "completed" and new.id not in done
    )
