"""The gate that applies now: what was accepted for the task, and what the settings require in addition."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.core.moves import commits_phase
from ostler.engine.core.step import CheckGate
from ostler.engine.core.verdicts import checks_files, find_gate, has_live_rules
from ostler.engine.steps.gates.choice import is_switched_off, read_protection
from ostler.engine.steps.gates.guarded_files import list_guarded_files
from ostler.engine.steps.protection import find_protection
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.model.event import GateDecided
from ostler.model.plan import Gate
from ostler.model.policy.protection import MERGE, Protection, combine_gates
from ostler.model.state import Stage

_SKIPPED_LATER = "its work is committed with a later phase; the gate checks the final commit"


def use_live_gate(step: CheckGate, context: TaskContext, services: StepServices) -> CheckGate:
    """Return the step with the gate that applies now; a requested review stays as it is."""
    state = context.state
    if not has_live_rules(state) or state.review_requested:
        return step
    live = read_protection(context.task, state.plan, services.settings).gate(step.phase)
    gate = combine_gates(step.gate, live)
    if step.phase == MERGE:
        gate = require_review_of_guarded_files(gate, context, services)
    return replace(step, gate=gate)


def find_merge_gate(used: Protection, context: TaskContext, services: StepServices) -> Gate:
    """Return the gate before publishing that applies now."""
    return require_review_of_guarded_files(used.gate(MERGE), context, services)


def require_review_of_guarded_files(gate: Gate, context: TaskContext, services: StepServices) -> Gate:
    """Let a person decide before a change of settings, agent configuration or CI is published."""
    if gate.type == "human" or find_protection(context, services).publish == "none":
        return gate
    return replace(gate, type="human") if list_guarded_files(context.state, services) else gate


def pass_without_check(step: CheckGate, context: TaskContext, services: StepServices) -> GateDecided | None:
    """Return the verdict of a gate that checks nothing now; None: it has to be checked."""
    state, gate = context.state, step.gate
    if state.stage is Stage.CHECKING and checks_files(gate) and not commits_phase(state):
        return GateDecided(step.phase, "auto", "not_checked", _SKIPPED_LATER, step.sha)
    if not gate.passes_automatically:
        return None
    before = find_gate(state, step.phase)
    if before is not None and before.verdict in ("pending", "fail", "could_not_run"):
        return GateDecided(step.phase, "skip", "skipped", "removed from the settings", step.sha)
    if is_switched_off(step.phase, services.settings):
        return GateDecided(step.phase, "skip", "skipped", "switched off in ostler.toml", step.sha)
    verdict = "skipped" if gate.type == "skip" else "not_checked"
    return GateDecided(step.phase, gate.type, verdict, "", step.sha)
