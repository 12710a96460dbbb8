"""The protecting settings of a task at this moment: the stricter of what was accepted and what is set."""

from __future__ import annotations

import msgspec
from msgspec.structs import asdict, replace

from ostler.config.settings import ExecutorSettings, GateSettings, QualityCheck, Settings
from ostler.engine.core.verdicts import has_live_rules
from ostler.engine.steps.gates.choice import read_protection
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.model.plan import PublishAs
from ostler.model.policy.protection import Protection, combine, use_explicit


def find_protection(context: TaskContext, services: StepServices) -> Protection:
    """Return the values that apply to the task now; a person's request to publish takes precedence.

    A requested rebase publishes nothing.
    """
    state = context.state
    live = read_protection(context.task, state.plan, services.settings)
    used = use_explicit(combine(state.baseline, live), live, services.explicit_settings)
    asked = state.requested_publishing
    if asked is None:
        return used
    return replace(used, publish="none" if asked == "rebase" else asked)


def find_publication(context: TaskContext, services: StepServices) -> PublishAs:
    """Return what happens to the completed work now, as a person requested or the settings allow."""
    return context.state.requested_publishing or find_protection(context, services).publish


def apply_protection(context: TaskContext, services: StepServices) -> StepServices:
    """Return the services with the settings that apply to the task now."""
    services = services.refresh()
    if not has_live_rules(context.state):
        return services
    used = find_protection(context, services)
    return replace(services, settings=_restrict(services.settings, used))


def _restrict(settings: Settings, used: Protection) -> Settings:
    executors = {
        name: replace(settings.executors.get(name, ExecutorSettings()), permissions=permissions)
        for name, permissions in used.permissions.items()
    }
    return replace(
        settings,
        executors=settings.executors | executors,
        gates=_restrict_gates(settings.gates, used),
        git=replace(
            settings.git,
            on_complete=used.publish,
            allow_secrets=used.allow_secrets,
            target=used.target,
            push_remote=used.push_remote,
        ),
        pull_request=replace(settings.pull_request, auto_merge=used.auto_merge),
        workspace=replace(settings.workspace, setup=used.setup, copy=used.copy, link=used.link),
        budget=replace(settings.budget, task_usd=used.task_usd, day_usd=used.day_usd),
        sandbox=replace(
            settings.sandbox,
            env_allow=used.env_allow,
            allow_unsandboxed_skip=used.unsandboxed_skip,
            tier=used.tier,
            network=used.network,
            allow_hosts=used.allow_hosts,
            allow_paths=used.allow_paths,
            home=used.home,
            writable_config=used.writable_config,
        ),
    )


def _restrict_gates(gates: GateSettings, used: Protection) -> GateSettings:
    options = {
        name: replace(own, control=own.control or name not in used.uncontrolled)
        for name, own in gates.options.items()
    }
    return replace(
        gates,
        checks={name: msgspec.convert(asdict(check), QualityCheck) for name, check in used.checks.items()},
        isolation=used.isolation,
        control=used.control,
        options=options,
        allow_test_changes=used.allow_test_changes,
    )
