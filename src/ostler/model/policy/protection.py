"""The settings that protect a project, and the rule for open tasks: stricter values apply at once, others
after a person accepted them.
"""

# Annotations are values here: msgspec would compile each text again, a tenth of the start of a run.

from collections.abc import Collection, Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.call import PermissionSetting
from ostler.model.plan import MERGE, Gate, GateType, Plan, Publishing
from ostler.model.policy.sandbox import Network, Tier

_GATES: tuple[GateType, ...] = ("skip", "auto", "command", "ai", "human")  # from weak to strict
_PUBLISHING: tuple[Publishing, ...] = ("none", "pr", "merge")
_PERMISSIONS: tuple[PermissionSetting, ...] = ("ask", "accept-edits", "auto", "skip")
_DEFAULT_PERMISSIONS: PermissionSetting = "auto"
_TIERS: tuple[Tier, ...] = ("supervised", "limits", "auto", "landlock", "docker", "podman", "bubblewrap")
_NETWORKS: tuple[Network, ...] = ("on", "proxy", "off")
_NO_GATE = Gate()

Isolation = Literal["none", "auto", "bind-over"]
OnFailure = Literal["skip", "warn", "block"]
_ISOLATION: tuple[Isolation, ...] = ("none", "auto", "bind-over")
_ON_FAILURE: tuple[OnFailure, ...] = ("skip", "warn", "block")


class Check(Struct, frozen=True):
    """A quality check of [gates.checks]."""

    command: str
    phase: str
    on_failure: OnFailure
    timeout_seconds: float


class Protection(Struct, frozen=True, omit_defaults=True):
    """The values of these settings at one moment; a gate that checks nothing is left out."""

    gates: dict[str, Gate] = {}  # by phase, "merge", or a name that is no phase of the task
    publish: Publishing = "none"
    permissions: dict[str, PermissionSetting] = {}  # executor -> its permissions
    unsandboxed_skip: bool = False
    env_allow: tuple[str, ...] = ()
    tier: Tier = "auto"
    network: Network = "proxy"
    allow_hosts: tuple[str, ...] = ()
    allow_paths: tuple[str, ...] = ()
    home: tuple[str, ...] = ()
    writable_config: tuple[str, ...] = ()
    allow_secrets: bool = False
    task_usd: float | None = None  # None: no limit
    day_usd: float | None = None
    checks: dict[str, Check] = {}
    isolation: Isolation = "auto"
    control: bool = True
    uncontrolled: tuple[str, ...] = ()  # gates whose control is switched off
    allow_test_changes: bool = False
    approve_after_seconds: float | None = None  # a human gate approves itself; None: never
    auto_merge: bool = False
    accept_proposals: bool = False
    # No value of these is stricter than another one: those of the first claim are used.
    target: str = ""
    push_remote: str = ""
    setup: str = ""
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()

    def gate(self, name: str) -> Gate:
        return self.gates.get(name, _NO_GATE)


# setting -> its field, for those with one value
_FIELDS = {
    "git.on_complete": "publish",
    "sandbox.allow_unsandboxed_skip": "unsandboxed_skip",
    "sandbox.env_allow": "env_allow",
    "sandbox.tier": "tier",
    "sandbox.network": "network",
    "sandbox.allow_hosts": "allow_hosts",
    "sandbox.allow_paths": "allow_paths",
    "sandbox.home": "home",
    "sandbox.writable_config": "writable_config",
    "git.allow_secrets": "allow_secrets",
    "budget.task_usd": "task_usd",
    "budget.day_usd": "day_usd",
    "gates.isolation": "isolation",
    "gates.control": "control",
    "gates.options without control": "uncontrolled",
    "gates.allow_test_changes": "allow_test_changes",
    "approval by gates.human_timeout_seconds": "approve_after_seconds",
    "pull_request.auto_merge": "auto_merge",
    "run.accept_proposals": "accept_proposals",
    "git.target": "target",
    "git.push_remote": "push_remote",
    "workspace.setup": "setup",
    "workspace.copy": "copy",
    "workspace.link": "link",
}


class Difference(Struct, frozen=True):
    """A looser value in the settings, which an open task does not use yet."""

    setting: str
    live: str  # value in the settings
    used: str  # value that the task uses

    @property
    def text(self) -> str:
        return f"ostler.toml has {self.setting} = {self.live}; this task uses {self.used}"


def protection_of_plan(plan: Plan) -> Protection:
    """Return the values of a task that an older version created: those of its plan."""
    gates = {phase.id: phase.gate for phase in plan.phases} | {MERGE: plan.merge_gate}
    return Protection(
        {name: gate for name, gate in gates.items() if not gate.passes_automatically}, plan.publish
    )


def add_planned_gates(live: Protection, plan: Plan) -> Protection:
    """Return the accepted values of a task of an older version: its plan, else the settings."""
    planned = protection_of_plan(plan)
    names = {MERGE, *(phase.id for phase in plan.phases)}
    others = {name: gate for name, gate in live.gates.items() if name not in names}
    return replace(live, gates=planned.gates | others, publish=planned.publish)


def use_current_workspace(baseline: Protection, live: Protection) -> Protection:
    """Return the accepted values with the current ones for what has no stricter value."""
    return replace(
        baseline,
        target=live.target,
        push_remote=live.push_remote,
        setup=live.setup,
        copy=live.copy,
        link=live.link,
    )


def combine(baseline: Protection, live: Protection) -> Protection:
    """Return the stricter value of each setting."""
    names = dict.fromkeys((*baseline.gates, *live.gates))
    gates = {name: combine_gates(baseline.gate(name), live.gate(name)) for name in names}
    executors = dict.fromkeys((*baseline.permissions, *live.permissions))
    return Protection(
        gates=gates,
        publish=_PUBLISHING[min(_PUBLISHING.index(baseline.publish), _PUBLISHING.index(live.publish))],
        permissions={name: _stricter_permissions(baseline, live, name) for name in executors},
        unsandboxed_skip=baseline.unsandboxed_skip and live.unsandboxed_skip,
        env_allow=_in_both(baseline.env_allow, live.env_allow),
        tier=_TIERS[max(_TIERS.index(baseline.tier), _TIERS.index(live.tier))],
        network=_NETWORKS[max(_NETWORKS.index(baseline.network), _NETWORKS.index(live.network))],
        allow_hosts=_in_both(baseline.allow_hosts, live.allow_hosts),
        allow_paths=_in_both(baseline.allow_paths, live.allow_paths),
        home=_in_both(baseline.home, live.home),
        writable_config=_in_both(baseline.writable_config, live.writable_config),
        allow_secrets=baseline.allow_secrets and live.allow_secrets,
        task_usd=_lower(baseline.task_usd, live.task_usd),
        day_usd=_lower(baseline.day_usd, live.day_usd),
        checks=_combine_checks(baseline.checks, live.checks),
        isolation=_ISOLATION[max(_ISOLATION.index(baseline.isolation), _ISOLATION.index(live.isolation))],
        control=baseline.control or live.control,
        uncontrolled=_in_both(baseline.uncontrolled, live.uncontrolled),
        allow_test_changes=baseline.allow_test_changes and live.allow_test_changes,
        approve_after_seconds=_longer(baseline.approve_after_seconds, live.approve_after_seconds),
        auto_merge=baseline.auto_merge and live.auto_merge,
        accept_proposals=baseline.accept_proposals and live.accept_proposals,
        target=baseline.target,
        push_remote=baseline.push_remote,
        setup=baseline.setup,
        copy=baseline.copy,
        link=baseline.link,
    )


def use_explicit(used: Protection, live: Protection, explicit: Collection[str]) -> Protection:
    """Return the values with those that a flag or variable of this run sets: no agent can change them."""
    named = {field: getattr(live, field) for setting, field in _FIELDS.items() if setting in explicit}
    return replace(used, **named) if named else used


def _combine_checks(baseline: dict[str, Check], live: dict[str, Check]) -> dict[str, Check]:
    """Return all checks; of two with one name the accepted one, with the stricter effect."""
    both = {
        name: replace(check, on_failure=max(check.on_failure, live[name].on_failure, key=_ON_FAILURE.index))
        for name, check in baseline.items()
        if name in live and check.on_failure != "skip"
    }
    return baseline | live | {name: one for name, one in baseline.items() if name not in live} | both


def combine_gates(baseline: Gate, live: Gate) -> Gate:
    """Return a gate that checks what both check; of two commands the accepted one."""
    if live.passes_automatically or baseline.passes_automatically:
        return live if baseline.passes_automatically else baseline
    stricter = max(baseline, live, key=lambda gate: _GATES.index(gate.type))
    criteria = tuple(dict.fromkeys((*baseline.criteria, *live.criteria)))
    combined = replace(stricter, criteria=criteria, command=baseline.command or live.command)
    return replace(combined, type="command") if combined.type == "auto" and combined.command else combined


def list_differences(
    baseline: Protection, live: Protection, explicit: Collection[str] = ()
) -> tuple[Difference, ...]:
    """Return the settings that are looser than those of the task."""
    used = use_explicit(combine(baseline, live), live, explicit)
    gates, checks = _list_gate_differences(used, live), _list_check_differences(used, live)
    return (*gates, *checks, *_list_other_differences(used, live))


def _list_gate_differences(used: Protection, live: Protection) -> Iterator[Difference]:
    for name, gate in used.gates.items():
        if gate != live.gate(name) and not gate.passes_automatically:
            removed = live.gate(name).passes_automatically
            yield Difference(
                f"gate {name}", "none" if removed else describe_gate(live.gate(name)), describe_gate(gate)
            )


def _list_check_differences(used: Protection, live: Protection) -> Iterator[Difference]:
    for name, check in used.checks.items():
        now = live.checks.get(name)
        if now != check and check.on_failure != "skip":
            yield Difference(f"gates.checks.{name}", _describe_check(now), _describe_check(check))


def _describe_check(check: Check | None) -> str:
    return "none" if check is None else f"{check.on_failure} `{check.command}` after {check.phase}"


def _list_other_differences(used: Protection, live: Protection) -> Iterator[Difference]:
    for name, permissions in used.permissions.items():
        now = live.permissions.get(name, _DEFAULT_PERMISSIONS)
        if now != permissions:
            yield Difference(f"executors.{name}.permissions", _describe(now), _describe(permissions))
    for setting, field in _FIELDS.items():
        now, before = getattr(live, field), getattr(used, field)
        if now != before:
            yield Difference(setting, _describe(now), _describe(before))


def describe_gate(gate: Gate) -> str:
    """Return a gate in words: its type, its command and its criteria."""
    command = f" `{gate.command}`" if gate.command else ""
    criteria = f" with {', '.join(gate.criteria)}" if gate.criteria else ""
    return f"{gate.type}{command}{criteria}"


def _describe(value: str | float | bool | tuple[str, ...] | None) -> str:
    match value:
        case None:
            return "no limit"
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case float() | int():
            return str(value)
        case _:
            return f"[{', '.join(value)}]"


def _stricter_permissions(baseline: Protection, live: Protection, executor: str) -> PermissionSetting:
    """Return the stricter permissions; none are skipped before a person accepted it without a sandbox."""
    before = baseline.permissions.get(executor, _DEFAULT_PERMISSIONS)
    now = live.permissions.get(executor, _DEFAULT_PERMISSIONS)
    stricter = _PERMISSIONS[min(_PERMISSIONS.index(before), _PERMISSIONS.index(now))]
    newly_skips = live.unsandboxed_skip and not baseline.unsandboxed_skip
    return _DEFAULT_PERMISSIONS if stricter == "skip" and newly_skips else stricter


def _in_both(baseline: tuple[str, ...], live: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in live if name in baseline)


def _lower(baseline: float | None, live: float | None) -> float | None:
    limits = [limit for limit in (baseline, live) if limit is not None]
    return min(limits, default=None)


def _longer(baseline: float | None, live: float | None) -> float | None:
    return None if baseline is None or live is None else max(baseline, live)
