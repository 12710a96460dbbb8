"""Problems of executors and roles that the settings name."""

from __future__ import annotations

from collections.abc import Iterator

from ostler.config.checks.expect import nearest
from ostler.config.literal import quote
from ostler.config.settings import ExecutorSettings
from ostler.errors import OstlerError, Problem
from ostler.executors.permissions import ALLOW_HINT
from ostler.executors.protocol import Executor
from ostler.executors.registry import resolve_name
from ostler.model.policy.model_config import ModelConfig
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents.executors import check_permissions, find_skipping_sections
from ostler.project.inspection.setup import Setup
from ostler.prompt.role import AGENTS, describe_unknown_role, list_project_roles


def find_unknown_executors(setup: Setup) -> Iterator[Problem]:
    """Yield a problem for each executor that neither the settings nor an installed package define."""
    for key, name in _list_named_executors(setup).items():
        if name not in setup.settings.executors and (why := explain_unknown_executor(name, setup)):
            yield setup.problem(key, why)
    for name, section in setup.settings.executors.items():
        if why := explain_unknown_executor(name, setup):
            yield setup.problem(f"executors.{name}.type" if section.type else f"executors.{name}", why)


def explain_unknown_executor(name: str, setup: Setup) -> str:
    """Return why an executor cannot be made, with the nearest name; empty when it is known."""
    kind = setup.settings.executors.get(name, ExecutorSettings()).type or name
    if setup.registry.has(kind):
        return ""
    known = {*setup.settings.executors, *setup.registry.list()} - {kind}
    has_no_type = name in setup.settings.executors and not setup.settings.executors[name].type
    if near := nearest(kind, sorted(known)):
        own = ' A program of your own needs type = "command"' if has_no_type else ""
        return f"unknown executor {quote(kind)}; did you mean {near}?{own}"
    if has_no_type:
        return 'missing type; add type = "command" for a program of your own, or another of: ostler executors'
    return f"unknown executor {quote(kind)}; run ostler executors"


def find_unknown_roles(setup: Setup) -> Iterator[Problem]:
    """Yield a problem for each role of [agents] and [phases.options] that has no prompt."""
    options = setup.settings.phases.options
    named = {f"agents.{role}": role for role in setup.settings.agents}
    named |= {f"phases.options.{phase}.role": one.role for phase, one in options.items() if one.role}
    unknown = {key: role for key, role in named.items() if role not in AGENTS}
    if unknown:
        own = list_project_roles(setup.root)
        for key, role in unknown.items():
            if role not in own:
                yield setup.problem(key, describe_unknown_role(role, setup.root))


def find_literal_homes(setup: Setup) -> Iterator[Problem]:
    """Yield a warning for each variable of an agent that begins with ~, which only a shell replaces."""
    settings = setup.settings
    named = {f"executors.{name}.env": section.env for name, section in settings.executors.items()}
    named |= {f"models[{index}].env": model.env for index, model in enumerate(settings.models)}
    for key, env in named.items():
        for variable, value in env.items():
            if value == "~" or value.startswith("~/"):
                why = f"~ is not replaced in settings: {quote(value)}; write the absolute path"
                yield setup.problem(f"{key}.{variable}", why, "warning")


def find_unusable_executors(setup: Setup) -> Iterator[Problem]:
    """Yield a warning for each executor of the settings that cannot start on this machine."""
    reported = tuple(find_skipping_sections(setup.settings))
    for key, name in list_used_executors(setup).items():
        section = f"executors.{resolve_name(name, setup.settings.executors)}."
        if any(one.startswith(section) for one in reported):
            continue  # an error names the setting
        try:
            check_permissions(setup.settings, ModelConfig(name, name))
            make_executor(name, setup).validate_availability()
        except OstlerError as error:
            hint = f"; {error.hint}" if error.hint else ""
            yield setup.problem(key, f"{error.message}{hint}", "warning")


def find_skipped_permissions(setup: Setup) -> Iterator[Problem]:
    """Yield a problem for each setting that starts an agent without permission checks and sandbox."""
    for key, value in find_skipping_sections(setup.settings).items():
        yield setup.problem(key, f"{value} lets the agent do anything on this machine; {ALLOW_HINT}")


def _list_named_executors(setup: Setup) -> dict[str, str]:
    """Return each setting that names an executor."""
    settings = setup.settings
    models = {f"models[{index}].executor": row.executor for index, row in enumerate(settings.models)}
    roles = {f"agents.{role}": name for role, name in settings.agents.items()}
    return (
        {"run.executor": settings.run.executor, "documents.executor": settings.documents.executor}
        | models
        | roles
    )


def list_used_executors(setup: Setup) -> dict[str, str]:
    """Return the executors that calls use: the enabled models, else the default, and those of roles."""
    enabled = {f"models[{index}].executor" for index, row in enumerate(setup.settings.models) if row.enabled}
    used = enabled or {"run.executor"}
    named = _list_named_executors(setup)
    found = {key: name for key, name in named.items() if key in used or key.startswith("agents.")}
    return {key: name for key, name in found.items() if not explain_unknown_executor(name, setup)}


def make_executor(name: str, setup: Setup) -> Executor:
    """Make an executor that only answers questions about itself."""
    return setup.registry.make(name, setup.settings.executors, DefaultCommandRunner())
