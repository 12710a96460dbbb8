"""Settings that refer to nothing: pools, plugins, arguments of other agents, variables, disabled models."""

from __future__ import annotations

from collections.abc import Iterator

from ostler.config.checks.expect import nearest
from ostler.config.checks.shape import keys_of
from ostler.config.literal import quote
from ostler.config.settings import LOOPBACK_HOSTS, Settings
from ostler.errors import Problem
from ostler.executors.discover import path_variable
from ostler.executors.registry import BUILT_IN
from ostler.process.environment import explain_unusable
from ostler.project.inspection.setup import Setup
from ostler.prompt.role import AGENTS

_PREFIX = "OSTLER_"
_RESERVED = (
    *("OSTLER_PROJECT", "OSTLER_TASK", "OSTLER_ATTEMPT", "OSTLER_STATE", "OSTLER_SANDBOX", "OSTLER_SHELL"),
    *("OSTLER_FAILPOINT", "OSTLER_MODELS", "OSTLER_NOTIFY", "OSTLER_FULL", "OSTLER_TEST_CLAUDE"),
)


def find_pool_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a warning for each pool that resembles a built-in one: no task would use it."""
    if not setup.settings.pools:
        return
    from ostler.calls.models.slots import BUILT_IN_POOLS  # noqa: PLC0415  (most projects set no pool)

    for name in setup.settings.pools:
        if name not in BUILT_IN_POOLS and (near := nearest(name, BUILT_IN_POOLS)):
            why = f'only tasks with feature: {name} use this pool; did you mean "{near}"?'
            yield setup.problem(f"pools.{name}", why, "warning")


def find_disabled_models(setup: Setup) -> Iterator[Problem]:
    """Yield a warning when no model is enabled: only tasks that name another executor can run."""
    models = setup.settings.models
    if models and not any(model.enabled for model in models):
        why = "all models are disabled, so no task can run; set enabled = true for one of them"
        yield setup.problem("models[0].enabled", why, "warning")


def find_preflight_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a problem for a minimum that no run can reach."""
    minimum, models = setup.settings.preflight.min_models, setup.settings.models
    count = sum(model.enabled for model in models) if models else 1
    if minimum > max(1, count):
        enabled = "1 model is enabled" if count == 1 else f"{count} models are enabled"
        yield setup.problem("preflight.min_models", f"{enabled}, fewer than {minimum}; lower it")


def find_variable_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a problem for each entry of sandbox.env_allow that never passes a variable on."""
    for entry in setup.settings.sandbox.env_allow:
        if why := explain_unusable(entry):
            yield setup.problem("sandbox.env_allow", f"{quote(entry)} {why}; remove it")


def find_server_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a warning for an address on which ostler serve does not listen; a run does not need it."""
    if setup.settings.server.host not in LOOPBACK_HOSTS:
        why = f"ostler serve refuses it; use one of {', '.join(LOOPBACK_HOSTS)}"
        yield setup.problem("server.host", why, "warning")


def find_plugin_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a problem for each plugin whose module does not exist; imports none of them."""
    if not setup.settings.plugins.load:
        return
    from ostler.calls.plugins import find_missing_module  # noqa: PLC0415  (most projects have no plugin)

    for path in setup.settings.plugins.load:
        if why := find_missing_module(path, setup.root):
            yield setup.problem("plugins.load", why)


def find_unknown_variables(setup: Setup) -> Iterator[Problem]:
    """Yield a warning for each OSTLER_ variable that has no effect, such as OSTLER_RUN_JOBS."""
    programs = {path_variable(name) for name in (*BUILT_IN, *setup.settings.executors)}
    used = {*_RESERVED, *programs, *_list_used_variables(setup.settings)}
    own = [name for name in setup.environ if name.startswith(_PREFIX) and "__" not in name]
    if not (unknown := sorted({*own} - used)):
        return
    # With those of other packages, which take 10 ms to find.
    programs |= {path_variable(name) for name in setup.registry.list()}
    for name in unknown:
        if name not in programs:
            near = nearest(name, programs) if name.endswith("_PATH") else _find_nearest_variable(name)
            suggestion = f"; did you mean {near}?" if near else "; ostler config show lists all settings"
            yield Problem(name, 0, "", f"unknown variable, without effect{suggestion}", "warning")


def _list_used_variables(settings: Settings) -> Iterator[str]:
    """Yield the variables that the settings name."""
    yield from (one.secret_env for one in settings.notify)
    yield from (*settings.sandbox.env_allow, *settings.secrets.env)


def _find_nearest_variable(name: str) -> str | None:
    """Return the variable with the same letters, else the most similar one."""
    settings = ["__".join(map(str, path)).upper() for path in keys_of(Settings)]
    settings += [f"AGENTS__{role.upper()}" for role in AGENTS]
    known = [*settings, *(one.removeprefix(_PREFIX) for one in _RESERVED)]
    letters = name.removeprefix(_PREFIX)
    same = (one for one in known if one.replace("_", "") == letters.replace("_", ""))
    near = next(same, None) or nearest(letters, known)
    return near and _PREFIX + near


def find_preset_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a problem for each preset_args of an executor that has no preset."""
    found = {name: one for name, one in setup.settings.executors.items() if one.preset_args is not None}
    if not found:
        return
    from ostler.executors.command import PRESETS  # noqa: PLC0415  (most projects set none)

    for name, section in found.items():
        if (section.type or name) not in PRESETS:
            why = f"only {', '.join(PRESETS)} have arguments to replace; use args"
            yield setup.problem(f"executors.{name}.preset_args", why)
