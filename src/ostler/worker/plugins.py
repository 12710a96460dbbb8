"""Finds the plugins of a run: those that the settings name, and those that installed packages offer."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable
from importlib import import_module

from ostler.config.settings import PluginSettings
from ostler.errors import UsageError
from ostler.worker.hooks import PluginRegistry

ENTRY_POINTS = "ostler.plugins"


def load_plugins(settings: PluginSettings, logger: logging.Logger | None = None) -> PluginRegistry:
    """All of them; raises UsageError for one that the settings name and that cannot be used."""
    registry = PluginRegistry(logger)
    for path in settings.load:
        _load_named(registry, path)
    if may_be_installed(sys.path):
        _load_installed(registry, logger or logging.getLogger(__name__))
    return registry


def _load_named(registry: PluginRegistry, path: str) -> None:
    try:
        registry.register(_made(path))
    except UsageError as error:
        raise UsageError(f'plugins.load: "{path}": {error.message}', error.hint) from error
    except Exception as error:  # what other people's code raises when it is imported or made
        why = f"{type(error).__name__}: {error}"
        hint = "mend the plugin, or take it out of plugins.load"
        raise UsageError(f'plugins.load: "{path}" cannot be loaded: {why}', hint) from error


def _made(path: str) -> object:
    """What stands at `module:attribute`; a class is called."""
    module, colon, attribute = path.partition(":")
    if not (module and colon and attribute):
        raise UsageError("this is not a module and a name in it", "write it as package.module:Name")
    found: object = getattr(import_module(module), attribute)
    return found() if isinstance(found, type) else found


def _load_installed(registry: PluginRegistry, logger: logging.Logger) -> None:
    """A package that cannot be used is no mistake of whoever runs this: it is told, and passed over."""
    from importlib.metadata import entry_points  # noqa: PLC0415  (it takes longer than all else here)

    for point in entry_points(group=ENTRY_POINTS):
        try:
            registry.register(_made(point.value), point.name)
        except Exception as error:  # noqa: BLE001  (other people's code)
            logger.warning("plugin %s of an installed package is passed over: %s", point.name, error)


def may_be_installed(search_path: Iterable[str]) -> bool:
    """Whether a package on the path may offer plugins; looks only for the words, a tenth of the real work."""
    return any(_offers(place) for place in dict.fromkeys(search_path))


def _offers(place: str) -> bool:
    if place.endswith((".zip", ".egg")):
        return os.path.exists(place)  # noqa: PTH110  (hot: once for each entry of a long path)
    try:
        with os.scandir(place or ".") as found:
            packages = [entry.path for entry in found if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return False
    return any(_names_our_group(f"{package}/entry_points.txt") for package in packages)


def _names_our_group(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return ENTRY_POINTS.encode() in file.readall()
    except OSError:
        return False
