"""The executors of a project: which one runs a task, and which are usable on this machine."""

from __future__ import annotations

import os

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings, Settings
from ostler.errors import Code, OstlerError
from ostler.executors.health import Health, HealthState, Probe
from ostler.executors.permissions import (
    WITHOUT_CHECKS,
    create_unchecked_error,
    find_skipped_checks,
    require_sandbox,
)
from ostler.executors.protocol import Capabilities
from ostler.executors.registry import ExecutorRegistry, find_section, resolve_name, resolve_type
from ostler.executors.survey import get_spec, probe_programs
from ostler.model.policy.model_config import ModelConfig
from ostler.model.policy.sandbox import TIERS_WITH_CHECKS, is_separate
from ostler.process.runner import DefaultCommandRunner
from ostler.sandbox.box.tiers import choose_tier
from ostler.store.queries.last_calls import LastCall


def check_permissions(settings: Settings, model: ModelConfig, *, on_workers: bool = False) -> None:
    """Raise SANDBOX_UNAVAILABLE before a run: the executor would refuse to start this agent.

    `on_workers`: the agent starts on a machine of the cluster, where the sandbox of the settings may work.
    """
    is_verified = _can_be_verified if on_workers else _is_verified
    name = resolve_name(model.executor, settings.executors)
    section = find_section(name, settings.executors)
    section = replace(section, args=(*section.args, *model.args), env={**section.env, **model.env})
    kind = resolve_type(name, settings.executors)
    if find_skipped_checks(section, kind):
        allowed = settings.sandbox.allow_unsandboxed_skip or is_verified(settings)
        require_sandbox(name, section, allowed, kind)
    elif kind in WITHOUT_CHECKS and not is_verified(settings):
        raise create_unchecked_error(name)


def find_skipping_sections(settings: Settings) -> dict[str, str]:
    """Return each setting that skips all permission checks without a sandbox, with its value."""
    found = {
        f"executors.{name}": find_skipped_checks(section, resolve_type(name, settings.executors))
        for name, section in settings.executors.items()
    }
    for index, model in enumerate(settings.models):
        kind = resolve_type(model.executor, settings.executors)
        own = ExecutorSettings(args=model.args, env=model.env)
        found[f"models[{index}]"] = find_skipped_checks(own, kind)
    pairs = [(section, reason.partition(" = ")) for section, reason in found.items() if reason]
    if pairs and (settings.sandbox.allow_unsandboxed_skip or _is_verified(settings)):
        return {}
    return {f"{section}.{key}": value for section, (key, _, value) in pairs}


def _can_be_verified(settings: Settings) -> bool:
    """Return whether the self-test of the sandbox can pass on any machine."""
    return settings.sandbox.tier not in TIERS_WITH_CHECKS and is_separate(settings.sandbox.network)


def _is_verified(settings: Settings) -> bool:
    """Return whether agents run in a sandbox whose self-test passed."""
    sandbox = settings.sandbox
    try:
        chosen = choose_tier(sandbox.tier, os.environ, sandbox.network, sandbox.image)
        return chosen.verified and is_separate(sandbox.network)
    except OstlerError:  # the tier does not work here; the run reports it
        return False


class ExecutorStatus(Struct, frozen=True):
    name: str
    type: str
    capabilities: Capabilities
    problem: str  # why it cannot be used and how to fix it; empty: usable
    state: HealthState = HealthState.HEALTHY
    version: str = ""  # empty: it has no program with a version
    path: str = ""  # of its program; empty: none
    last_call: LastCall | None = None  # of a task; None: none is recorded


def list_executors(settings: Settings) -> list[ExecutorStatus]:
    """Return the executors of the settings, then the built-in and installed ones; starts nothing."""
    registry = ExecutorRegistry()
    names = dict.fromkeys((*settings.executors, *registry.list(aliases=False)))
    return [_check_executor(name, settings, registry) for name in names]


def probe_executors(entries: list[ExecutorStatus], probe: Probe | None = None) -> list[ExecutorStatus]:
    """Return the same entries with the version and health of each program."""
    healths = probe_programs([entry.path for entry in entries if entry.path], probe)
    return [_add_health(entry, healths[entry.path]) if entry.path else entry for entry in entries]


def _add_health(entry: ExecutorStatus, health: Health) -> ExecutorStatus:
    if health.state is HealthState.HEALTHY:
        return replace(entry, version=health.version)
    return replace(entry, state=health.state, problem=f"{entry.path}: {health.detail}")


def _check_executor(name: str, settings: Settings, registry: ExecutorRegistry) -> ExecutorStatus:
    own = find_section(name, settings.executors)
    entry = ExecutorStatus(name, own.type or name, Capabilities(), "")
    try:
        executor = registry.make(name, settings.executors, DefaultCommandRunner())
        entry = replace(entry, capabilities=executor.capabilities)
        executor.validate_availability()
    except OstlerError as error:
        missing = error.code is Code.AGENT_NOT_FOUND
        state = HealthState.NOT_FOUND if missing else HealthState.UNHEALTHY
        return replace(entry, problem=error.hint or error.message, state=state)
    dialect = get_spec(executor)
    found = dialect.program.find(command=own.command, instance=name) if dialect else None
    return replace(entry, path=(found.path if found else None) or "")
