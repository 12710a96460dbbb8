"""Every executor by name, with what it can do and whether it works here."""

from __future__ import annotations

from msgspec import Struct

from ostler.config.settings import ExecutorSettings, Settings
from ostler.errors import OstlerError
from ostler.executors.protocol import Capabilities
from ostler.executors.registry import ExecutorRegistry
from ostler.process.runner import DefaultCommandRunner


class Entry(Struct, frozen=True):
    name: str
    type: str
    capabilities: Capabilities
    problem: str  # why it cannot be used here, with what mends it; empty: it can


def roster(settings: Settings) -> list[Entry]:
    """Those of the settings first, then the built-in and installed types."""
    registry = ExecutorRegistry()
    names = dict.fromkeys((*settings.executors, *registry.list()))
    return [_entry(name, settings, registry) for name in names]


def _entry(name: str, settings: Settings, registry: ExecutorRegistry) -> Entry:
    kind = settings.executors.get(name, ExecutorSettings()).type or name
    can = Capabilities()
    try:
        executor = registry.make(name, settings.executors, DefaultCommandRunner())
        can = executor.capabilities
        executor.validate_availability()
    except OstlerError as error:
        return Entry(name, kind, can, error.hint or error.message)
    return Entry(name, kind, can, "")
