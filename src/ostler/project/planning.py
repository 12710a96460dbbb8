"""The plan of a task: its phases with their gates, from its weight, its own words and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from ostler.config.load import Loaded
from ostler.config.settings import PhaseOptions, Settings
from ostler.errors import UsageError
from ostler.model.plan import OPEN, PHASES, Gate, GateType, Phase, Plan, plan_for
from ostler.model.task import Task
from ostler.project.documents import plan_document
from ostler.prompt.template import WRITE, load_template

MERGE = "merge"

# What a profile asks for where the settings do not say otherwise.
_PROFILES: dict[str, dict[str, GateType]] = {
    "auto": {},
    "fast": {},
    "safe": {"review": "ai", MERGE: "human"},
    "strict": {"spec": "human", "design": "human", "review": "ai", "validate": "ai", MERGE: "human"},
}
_RETRIES = {"auto": 2, "fast": 1, "safe": 2, "strict": 3}
_ROLES = {"research": "researcher", "spec": "architect", "design": "architect", "review": "reviewer"}


def plan_task(task: Task, loaded: Loaded, root: Path) -> Plan:
    """The plan that a new task keeps for good; raises UsageError for a phase that cannot be."""
    settings = loaded.settings
    if task.is_document:
        return plan_document(task, _gate(WRITE, task, settings), root, settings)
    names = task.phases or settings.phases.plans.get(task.weight) or PHASES[task.weight]
    plain = plan_for(task.weight, _in_order(names, settings))
    for phase in plain.phases:
        load_template(phase.id, "", root)  # a mistake in it is told before any agent runs
    return replace(
        plain,
        phases=tuple(_phase(phase, task, settings) for phase in plain.phases),
        merge_gate=_merge_gate(settings),
        publish=settings.git.on_complete,
        max_phase_retries=_retries(loaded),
        reapprove=settings.phases.profile == "strict",
    )


def _phase(plain: Phase, task: Task, settings: Settings) -> Phase:
    options = settings.phases.options.get(plain.id, PhaseOptions())
    usual_role = _ROLES.get(plain.id, "") if task.role == "implementer" else ""
    return replace(
        plain,
        max_iterations=options.max_iterations or plain.max_iterations,
        gate=_gate(plain.id, task, settings),
        checkpoint=options.checkpoint,
        depends_on=options.depends_on,
        retry_to=settings.phases.retry_map.get(plain.id, plain.retry_to),
        role=options.role or usual_role,
    )


def _gate(name: str, task: Task, settings: Settings) -> Gate:
    gates = settings.gates
    command = gates.commands.get(name, "")
    usual = _PROFILES[settings.phases.profile].get(name, gates.default)
    kind = gates.weights.get(task.weight) or gates.phases.get(name) or ("command" if command else usual)
    return Gate(kind, gates.criteria.get(name, ()), command if kind == "command" else "")


def _merge_gate(settings: Settings) -> Gate:
    """Before publishing nothing is asked unless someone wants it."""
    gates = settings.gates
    command = gates.commands.get(MERGE, "")
    usual = "command" if command else _PROFILES[settings.phases.profile].get(MERGE, "skip")
    kind = gates.phases.get(MERGE) or usual
    return Gate(kind, gates.criteria.get(MERGE, ()), command) if kind != "skip" else OPEN


def _retries(loaded: Loaded) -> int:
    """What a person set, else what the profile brings."""
    said = loaded.sources["phases.max_phase_retries"].layer != "default"
    phases = loaded.settings.phases
    return phases.max_phase_retries if said else _RETRIES[phases.profile]


def _in_order(names: tuple[str, ...], settings: Settings) -> tuple[str, ...]:
    """The phases as they are listed, but each behind those that it depends on."""
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise UsageError(f"the phase {twice} is named twice", "name each phase once")
    options, left, ordered = settings.phases.options, list(names), list[str]()
    while left:
        ready = [name for name in left if not set(_needs(name, options)) & set(left)]
        if not ready:
            circle = ", ".join(left)
            raise UsageError(
                f"the phases {circle} wait for each other", "correct depends_on in [phases.options]"
            )
        ordered.append(ready[0])
        left.remove(ready[0])
    return tuple(ordered)


def _needs(name: str, options: Mapping[str, PhaseOptions]) -> tuple[str, ...]:
    return options[name].depends_on if name in options else ()
