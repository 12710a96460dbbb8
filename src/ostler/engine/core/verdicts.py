"""The verdicts of a task's gates: where each is stored, and whether it is about the final commit."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.core.no_changes import needs_review, request_review
from ostler.model.event import FinalChecked
from ostler.model.plan import MERGE, NO_GATE, Gate
from ostler.model.state import GateState, NamedGate, PhaseState, Stage, State
from ostler.model.status import TaskStatus

LIVE_RULES = 2
"""From these rules on, each gate is checked as the settings require at that moment."""

_UNDECIDED = ("pending", "fail", "could_not_run")


def replace_phase(state: State, index: int, phase: PhaseState) -> State:
    return replace(state, phases=(*state.phases[:index], phase, *state.phases[index + 1 :]))


def has_live_rules(state: State) -> bool:
    return state.rules >= LIVE_RULES


def name_current_gate(state: State) -> str:
    """Return the name of the gate that the current stage checks."""
    if state.stage is Stage.FINAL:
        return state.final_gate
    return MERGE if state.stage is Stage.MERGING else state.current.id


def find_gate(state: State, name: str) -> GateState | None:
    """Return the verdict of a gate by its name."""
    if name == MERGE:
        return state.merge
    index = state.plan.index(name)
    if index is not None:
        return state.phases[index].gate
    return next((one.gate for one in state.gates if one.name == name), None)


def waits_for_guarded_files(state: State) -> bool:
    """Return whether a person has to approve files before publishing, which no setting changes."""
    waits = state.status is TaskStatus.NEEDS_REVIEW and state.stage is Stage.MERGING
    return waits and state.merge is not None and bool(state.merge.guarded) and state.publishing != "none"


def store_gate(state: State, name: str, gate: GateState | None) -> State:
    """Store the verdict of a gate; None removes it."""
    if name == MERGE:
        return replace(state, merge=gate)
    index = state.plan.index(name)
    if index is not None:
        return replace_phase(state, index, replace(state.phases[index], gate=gate))
    others = tuple(one for one in state.gates if one.name != name)
    return replace(state, gates=(*others, NamedGate(name, gate)) if gate else others)


def planned_gate(state: State, name: str) -> Gate:
    """Return the gate of the plan, for verdicts of older versions, which do not contain their gate."""
    if name == MERGE:
        return state.plan.merge_gate
    index = state.plan.index(name)
    return NO_GATE if index is None else state.plan.phases[index].gate


def enter_final_stage(state: State) -> State:
    """Continue with the gates that have not checked the final commit."""
    last = len(state.phases) - 1
    return replace(state, stage=Stage.FINAL, phase=last, recheck_phases=(), final_gate="")


def focus_gate(state: State, name: str) -> State:
    """Return the state in which a gate of the final stage is checked: at its phase, or the last one."""
    index = state.plan.index(name)
    phase = len(state.phases) - 1 if index is None else index
    return replace(state, phase=phase, final_gate=name)


def apply_final_checked(state: State, event: FinalChecked) -> State:
    """Continue with the gate before publishing, with publishing, or with the end."""
    checked = replace(state, checks=state.checks + 1, final_gate="")
    if needs_review(checked):
        return replace(request_review(checked), stage=Stage.MERGING)
    if event.merge != "skip":
        return replace(checked, stage=Stage.MERGING)
    publishes = event.publish != "none" and state.branch is not None
    return replace(checked, stage=Stage.PUBLISHING if publishes else Stage.DONE)


def has_checked(state: State, name: str, gate: Gate) -> bool:
    """Return whether the stored verdict is the one of this gate, about the files of the last commit."""
    found = find_gate(state, name)
    if gate.passes_automatically:
        return found is None or found.verdict not in _UNDECIDED
    if found is None or found.verdict not in ("pass", "overruled"):
        return False
    if not _is_same_gate(found, gate, planned_gate(state, name)):
        return False
    if not found.by_person and not _covers_criteria(found, gate, planned_gate(state, name)):
        return False
    if gate.type == "human" and not found.by_person:
        return False
    is_final = found.by_person and (_is_overruled(found) or not gate.command or found.type is None)
    return is_final or not checks_files(gate) or state.is_about_last_commit(found)


def _is_overruled(found: GateState) -> bool:
    """Return whether a person rejected the result of the gate; a gate that cannot fail still has one."""
    return found.verdict == "overruled" and found.original != "not_checked"


def _is_same_gate(found: GateState, gate: Gate, planned: Gate) -> bool:
    """Return whether the verdict is the one of this gate; a person decides with the result of the command."""
    decided = found.by_person and (gate.type == "human" or found.check is not None)
    if not decided and (found.type or planned.type) != gate.type:
        return False
    if found.check is not None:
        return found.check.command == gate.command
    # Older verdicts do not contain the command; one that could not run leaves no check.
    return found.verdict == "overruled" or gate.command == (planned.command if found.type is None else "")


def _covers_criteria(found: GateState, gate: Gate, planned: Gate) -> bool:
    """Return whether the verdict is about all criteria; a person may add some after the phase passed."""
    used = planned.criteria if found.criteria is None else found.criteria
    return set(gate.criteria) <= set(used)


def checks_files(gate: Gate) -> bool:
    """Return whether the verdict of the gate depends on the files of the commit."""
    return gate.type in ("command", "ai") or bool(gate.command)


def drop_outdated_approvals(state: State) -> State:
    """Remove a person's verdicts about files, after a rebase that changed more than the base."""
    names = (*(phase.id for phase in state.phases), *(one.name for one in state.gates))
    for name in names:
        found = find_gate(state, name)
        kind = found and (found.type or planned_gate(state, name).type)
        if found and found.by_person and (kind in ("command", "ai") or found.check):
            state = store_gate(state, name, None)
    return state
