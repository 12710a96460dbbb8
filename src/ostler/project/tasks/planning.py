"""Creates the plan of a task: its phases and gates, from its weight, its fields and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from ostler.config.load import Loaded
from ostler.config.settings import PhaseOptions, Settings
from ostler.config.source import DEFAULT
from ostler.engine.steps.gates.choice import choose_gate, choose_merge_gate
from ostler.errors import UsageError
from ostler.model.plan import DOCUMENT_PHASE, MERGE, PHASES, Phase, Plan, build_plan
from ostler.model.task import Task
from ostler.prompt.template import find_template, is_phase_name, load_template

_RETRIES = {"auto": 2, "fast": 1, "safe": 2, "strict": 3}
_ROLES = {"research": "researcher", "spec": "architect", "design": "architect", "review": "reviewer"}


def plan_task(task: Task, loaded: Loaded, root: Path) -> Plan:
    """Return the plan of a new task, whose phases stay the same; raise UsageError for an invalid phase."""
    settings = loaded.settings
    if task.is_document:
        from ostler.project.tasks.files.documents import plan_document  # noqa: PLC0415  (imported on use)

        return plan_document(task, choose_gate(DOCUMENT_PHASE, task.weight, settings), root, settings)
    names = task.phases or settings.phases.plans.get(task.weight) or PHASES[task.weight]
    plain = build_plan(task.weight, _sort_phases(names, settings))
    _refuse_unused_prompts(task, plain)
    for phase in plain.phases:
        _check_template(phase.id, task, loaded, root)
    phases = tuple(_configure_phase(phase, task, settings) for phase in plain.phases)
    _require_commands(phases, task, settings)
    return replace(
        plain,
        phases=phases,
        merge_gate=choose_merge_gate(settings),
        publish=settings.git.on_complete,
        max_phase_retries=_choose_max_retries(loaded),
        max_steps=settings.phases.max_steps,
        reapprove=settings.phases.profile == "strict",
    )


def _configure_phase(plain: Phase, task: Task, settings: Settings) -> Phase:
    options = settings.phases.options.get(plain.id, PhaseOptions())
    usual_role = _ROLES.get(plain.id, "") if task.role == "implementer" else ""
    return replace(
        plain,
        max_iterations=options.max_iterations or plain.max_iterations,
        gate=choose_gate(plain.id, task.weight, settings),
        checkpoint=options.checkpoint,
        depends_on=options.depends_on,
        retry_to=settings.phases.retry_map.get(plain.id, plain.retry_to),
        role=options.role or usual_role,
        prompt=task.prompts.get(plain.id, ""),
    )


def _require_commands(phases: tuple[Phase, ...], task: Task, settings: Settings) -> None:
    """Refuse a `command` gate without a command: it would stop the task after the work is done."""
    for phase in phases:
        if phase.gate.type == "command" and not phase.gate.command:
            gates = settings.gates
            key = f"gates.phases.{phase.id}" if phase.id in gates.phases else "gates.default"
            key = f"gates.weights.{task.weight}" if task.weight in gates.weights else key
            hint = f"set gates.commands.{phase.id}, or change {key}"
            raise UsageError(f"the gate of {phase.id} is command, but it has no command", hint)


def _check_template(phase: str, task: Task, loaded: Loaded, root: Path) -> None:
    """Report an invalid template before any agent runs."""
    key = f"phases.prompts.{phase}"
    where = loaded.locations.get(key, DEFAULT)
    if text := loaded.settings.phases.prompts.get(phase, ""):
        load_template(phase, text, root, f"{where.name}:{where.line}: {key}")
    find_template(phase, task.prompts.get(phase, ""), loaded.settings.phases.prompts, root)


def _refuse_unused_prompts(task: Task, plan: Plan) -> None:
    names = [phase.id for phase in plan.phases]
    if unused := next((name for name in task.prompts if name not in names), ""):
        raise UsageError(f"prompts: the task has no phase {unused!r:.80}", f"its phases: {', '.join(names)}")


def _choose_max_retries(loaded: Loaded) -> int:
    """Return the configured number of retries, else that of the profile."""
    is_set = loaded.sources["phases.max_phase_retries"].layer != "default"
    phases = loaded.settings.phases
    return phases.max_phase_retries if is_set else _RETRIES[phases.profile]


def explain_phases(names: tuple[str, ...]) -> tuple[str, str] | None:
    """Return what is wrong with a list of phases and what to do, or None."""
    if not names:
        return "no phase is listed", f"list phases, such as {', '.join(PHASES['small'])}"
    if invalid := next((name for name in names if not is_phase_name(name)), ""):
        return f"invalid phase name {invalid!r:.80}", "use at most 40 letters, digits, - and _"
    if MERGE in names:
        return f"no phase can have the name {MERGE}", "it is the gate before publishing; use another name"
    twice = next((name for name in names if names.count(name) > 1), "")
    return (f"phase {twice} is listed twice", "list each phase once") if twice else None


def _sort_phases(names: tuple[str, ...], settings: Settings) -> tuple[str, ...]:
    """Return the phases in the given order, each after its dependencies."""
    if problem := explain_phases(names):
        raise UsageError(*problem)
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
