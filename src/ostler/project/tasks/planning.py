"""Creates the plan of a task: its phases and gates, from its weight, its fields and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from ostler.config.load import Loaded
from ostler.config.settings import PhaseOptions, Settings
from ostler.errors import UsageError
from ostler.model.plan import NO_GATE, PHASES, Gate, GateType, Phase, Plan, build_plan
from ostler.model.task import Task
from ostler.project.tasks.documents import plan_document
from ostler.prompt.template import WRITE, load_template

MERGE = "merge"

# Gates of a profile, unless the settings name others.
_PROFILES: dict[str, dict[str, GateType]] = {
    "auto": {},
    "fast": {},
    "safe": {"review": "ai", MERGE: "human"},
    "strict": {"spec": "human", "design": "human", "review": "ai", "validate": "ai", MERGE: "human"},
}
_RETRIES = {"auto": 2, "fast": 1, "safe": 2, "strict": 3}
_ROLES = {"research": "researcher", "spec": "architect", "design": "architect", "review": "reviewer"}


def plan_task(task: Task, loaded: Loaded, root: Path) -> Plan:
    """Return the plan of a new task, which does not change later; raises UsageError for an invalid phase."""
    settings = loaded.settings
    if task.is_document:
        return plan_document(task, _choose_gate(WRITE, task, settings), root, settings)
    names = task.phases or settings.phases.plans.get(task.weight) or PHASES[task.weight]
    plain = build_plan(task.weight, _sort_phases(names, settings))
    for phase in plain.phases:
        load_template(phase.id, "", root)  # report an invalid template before any agent runs
    return replace(
        plain,
        phases=tuple(_configure_phase(phase, task, settings) for phase in plain.phases),
        merge_gate=_choose_merge_gate(settings),
        publish=settings.git.on_complete,
        max_phase_retries=_choose_max_retries(loaded),
        reapprove=settings.phases.profile == "strict",
    )


def _configure_phase(plain: Phase, task: Task, settings: Settings) -> Phase:
    options = settings.phases.options.get(plain.id, PhaseOptions())
    usual_role = _ROLES.get(plain.id, "") if task.role == "implementer" else ""
    return replace(
        plain,
        max_iterations=options.max_iterations or plain.max_iterations,
        gate=_choose_gate(plain.id, task, settings),
        checkpoint=options.checkpoint,
        depends_on=options.depends_on,
        retry_to=settings.phases.retry_map.get(plain.id, plain.retry_to),
        role=options.role or usual_role,
    )


def _choose_gate(name: str, task: Task, settings: Settings) -> Gate:
    gates = settings.gates
    command = gates.commands.get(name, "")
    default = _PROFILES[settings.phases.profile].get(name, gates.default)
    kind = gates.weights.get(task.weight) or gates.phases.get(name) or ("command" if command else default)
    return Gate(kind, gates.criteria.get(name, ()), command if kind == "command" else "")


def _choose_merge_gate(settings: Settings) -> Gate:
    """Return the gate before publishing; none unless it is configured."""
    gates = settings.gates
    command = gates.commands.get(MERGE, "")
    default = "command" if command else _PROFILES[settings.phases.profile].get(MERGE, "skip")
    kind = gates.phases.get(MERGE) or default
    return Gate(kind, gates.criteria.get(MERGE, ()), command) if kind != "skip" else NO_GATE


def _choose_max_retries(loaded: Loaded) -> int:
    """Return the configured number of retries, else that of the profile."""
    is_set = loaded.sources["phases.max_phase_retries"].layer != "default"
    phases = loaded.settings.phases
    return phases.max_phase_retries if is_set else _RETRIES[phases.profile]


def _sort_phases(names: tuple[str, ...], settings: Settings) -> tuple[str, ...]:
    """Return the phases in the given order, each after its dependencies."""
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise UsageError(f"phase {twice} is listed twice", "list each phase once")
    options, left, ordered = settings.phases.options, list(names), list[str]()
    while left:
        ready = [name for name in left if not set(_get_dependencies(name, options)) & set(left)]
        if not ready:
            circle = ", ".join(left)
            raise UsageError(
                f"dependency cycle between the phases {circle}", "fix depends_on in [phases.options]"
            )
        ordered.append(ready[0])
        left.remove(ready[0])
    return tuple(ordered)


def _get_dependencies(name: str, options: Mapping[str, PhaseOptions]) -> tuple[str, ...]:
    return options[name].depends_on if name in options else ()
