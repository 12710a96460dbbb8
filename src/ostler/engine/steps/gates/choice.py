"""Chooses the gates of a task from the settings."""

from __future__ import annotations

import msgspec
from msgspec.structs import asdict, replace

from ostler.config.settings import Settings
from ostler.engine.core.verdicts import has_live_rules
from ostler.model.plan import NO_GATE, Gate, GateType, Plan
from ostler.model.policy.protection import MERGE, Check, Protection, add_planned_gates, use_current_workspace
from ostler.model.state import State
from ostler.model.task import Task, Weight

# Gates of a profile, unless the settings name others.
_PROFILES: dict[str, dict[str, GateType]] = {
    "auto": {},
    "fast": {},
    "safe": {"review": "ai", MERGE: "human"},
    "strict": {"spec": "human", "design": "human", "review": "ai", "validate": "ai", MERGE: "human"},
}


def choose_gate(name: str, weight: Weight, settings: Settings) -> Gate:
    """Return the gate of a phase; only `skip` under its own name switches its command off."""
    gates = settings.gates
    command, named = gates.commands.get(name, ""), gates.phases.get(name)
    if named == "skip":
        return _choose_by_weight(name, weight, settings)
    default = _PROFILES[settings.phases.profile].get(name, gates.default)
    kind = gates.weights.get(weight) or named or ("command" if command else default)
    if command and kind in ("auto", "skip"):
        kind = "command"
    return Gate(kind, gates.criteria.get(name, ()), command)


def _choose_by_weight(name: str, weight: Weight, settings: Settings) -> Gate:
    """Return the gate of a phase that is set to `skip`: that of the weight has precedence over it."""
    gates = settings.gates
    kind = gates.weights.get(weight, "skip")
    command = gates.commands.get(name, "") if kind == "command" else ""
    checks = kind in ("ai", "human") or bool(command)
    return Gate(kind, gates.criteria.get(name, ()), command) if checks else NO_GATE


def choose_merge_gate(settings: Settings) -> Gate:
    """Return the gate before publishing; none unless it is configured."""
    gates = settings.gates
    command, named = gates.commands.get(MERGE, ""), gates.phases.get(MERGE)
    default = "command" if command else _PROFILES[settings.phases.profile].get(MERGE, "skip")
    kind = "command" if command and named == "auto" else named or default
    return Gate(kind, gates.criteria.get(MERGE, ()), command) if kind != "skip" else NO_GATE


def choose_document_gate(review: str, default: Gate) -> Gate:
    """Return the gate of a document: by the reviewer of the task, else by the settings."""
    match review:
        case "":
            return replace(default, escalate_to_person=default.type == "ai")
        case "human":
            return Gate("human", default.criteria)
        case "ai":
            return Gate("ai", default.criteria, escalate_to_person=True)
        case skill:
            return Gate("ai", default.criteria, skill=skill, escalate_to_person=True)


def is_switched_off(name: str, settings: Settings) -> bool:
    """Return whether the settings switch a gate off by its name."""
    return settings.gates.phases.get(name) == "skip"


def read_protection(task: Task, plan: Plan, settings: Settings) -> Protection:
    """Return the protecting settings for a task."""
    gates, checks = _choose_gates(task, plan, settings), settings.gates.checks
    return Protection(
        gates={name: gate for name, gate in gates.items() if not gate.passes_automatically},
        publish="none" if plan.is_document else settings.git.on_complete,
        permissions={
            name: own.permissions
            for name, own in settings.executors.items()
            if own.permissions != type(own)().permissions
        },
        unsandboxed_skip=settings.sandbox.allow_unsandboxed_skip,
        env_allow=settings.sandbox.env_allow,
        tier=settings.sandbox.tier,
        network=settings.sandbox.network,
        allow_hosts=settings.sandbox.allow_hosts,
        allow_paths=settings.sandbox.allow_paths,
        home=settings.sandbox.home,
        writable_config=settings.sandbox.writable_config,
        allow_secrets=settings.git.allow_secrets,
        task_usd=settings.budget.task_usd,
        day_usd=settings.budget.day_usd,
        checks={name: msgspec.convert(asdict(check), Check) for name, check in checks.items()},
        isolation=settings.gates.isolation,
        control=settings.gates.control,
        uncontrolled=tuple(name for name, own in settings.gates.options.items() if not own.control),
        allow_test_changes=settings.gates.allow_test_changes,
        approve_after_seconds=_find_approval_timeout(settings),
        auto_merge=settings.pull_request.auto_merge,
        accept_proposals=settings.run.accept_proposals,
        target=settings.git.target,
        push_remote=settings.git.push_remote,
        setup=settings.workspace.setup,
        copy=settings.workspace.copy,
        link=settings.workspace.link,
    )


def _find_approval_timeout(settings: Settings) -> float | None:
    gates = settings.gates
    return gates.human_timeout_seconds if gates.human_timeout_action == "approve" else None


def find_baseline(state: State, live: Protection) -> Protection:
    """Return the accepted values; a task of an older version accepts the settings at its next claim."""
    if state.protection is not None or has_live_rules(state):
        return state.baseline if state.claims else use_current_workspace(state.baseline, live)
    return add_planned_gates(live, state.plan)


def _choose_gates(task: Task, plan: Plan, settings: Settings) -> dict[str, Gate]:
    """Return the gates of the phases, those that the settings name for other phases, and the last one."""
    phases = [phase.id for phase in plan.phases]
    if plan.is_document:
        return {
            name: choose_document_gate(task.review, choose_gate(name, task.weight, settings))
            for name in phases
        }
    named = (*settings.gates.commands, *settings.gates.phases)
    names = dict.fromkeys((*phases, *(name for name in named if name != MERGE)))
    gates = {name: choose_gate(name, task.weight, settings) for name in names}
    # The criteria of a phase are about its answer, which does not exist without the phase.
    gates = {name: gate if name in phases else replace(gate, criteria=()) for name, gate in gates.items()}
    return gates | {MERGE: choose_merge_gate(settings)}
