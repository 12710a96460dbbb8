"""Names in the settings that refer to nothing: pools, plugins, and arguments of other agents."""

from __future__ import annotations

from collections.abc import Iterator

from ostler.config.expect import nearest
from ostler.errors import Problem
from ostler.project.inspection.setup import Setup


def find_pool_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a warning for each pool that resembles a built-in one: no task would use it."""
    if not setup.settings.pools:
        return
    from ostler.calls.models.slots import BUILT_IN_POOLS  # noqa: PLC0415  (most projects set no pool)

    for name in setup.settings.pools:
        if name not in BUILT_IN_POOLS and (near := nearest(name, BUILT_IN_POOLS)):
            why = f'only tasks with feature: {name} use this pool; did you mean "{near}"?'
            yield setup.problem(f"pools.{name}", why, "warning")


def find_plugin_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a problem for each plugin whose module does not exist; imports none of them."""
    if not setup.settings.plugins.load:
        return
    from ostler.calls.plugins import find_missing_module  # noqa: PLC0415  (most projects have no plugin)

    for path in setup.settings.plugins.load:
        if why := find_missing_module(path, setup.root):
            yield setup.problem("plugins.load", why)


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
