"""Every executor by name, with what it can do and whether it works here."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings, Settings
from ostler.errors import Code, OstlerError
from ostler.executors.health import Ask, Health, State
from ostler.executors.protocol import Capabilities
from ostler.executors.registry import ExecutorRegistry
from ostler.process.runner import DefaultCommandRunner
from ostler.project.inspection import dialect_of, probe_all


class Entry(Struct, frozen=True):
    name: str
    type: str
    capabilities: Capabilities
    problem: str  # why it cannot be used here, with what mends it; empty: it can
    state: State = State.HEALTHY
    version: str = ""  # empty: it starts no program that would tell
    path: str = ""  # of the program that can be asked


def roster(settings: Settings) -> list[Entry]:
    """Those of the settings first, then the built-in and installed types; nothing is started."""
    registry = ExecutorRegistry()
    names = dict.fromkeys((*settings.executors, *registry.list()))
    return [_entry(name, settings, registry) for name in names]


def probe_roster(entries: list[Entry], ask: Ask | None = None) -> list[Entry]:
    """The same entries, after each program was asked for its version."""
    healths = probe_all([entry.path for entry in entries if entry.path], ask)
    return [_asked(entry, healths[entry.path]) if entry.path else entry for entry in entries]


def _asked(entry: Entry, health: Health) -> Entry:
    if health.state is State.HEALTHY:
        return replace(entry, version=health.version)
    return replace(entry, state=health.state, problem=f"{entry.path}: {health.detail}")


def _entry(name: str, settings: Settings, registry: ExecutorRegistry) -> Entry:
    own = settings.executors.get(name, ExecutorSettings())
    entry = Entry(name, own.type or name, Capabilities(), "")
    try:
        executor = registry.make(name, settings.executors, DefaultCommandRunner())
        entry = replace(entry, capabilities=executor.capabilities)
        executor.validate_availability()
    except OstlerError as error:
        missing = error.code is Code.AGENT_NOT_FOUND
        state = State.NOT_FOUND if missing else State.UNHEALTHY
        return replace(entry, problem=error.hint or error.message, state=state)
    dialect = dialect_of(executor)
    found = dialect.known.find(command=own.command, instance=name) if dialect else None
    return replace(entry, path=(found.path if found else None) or "")
