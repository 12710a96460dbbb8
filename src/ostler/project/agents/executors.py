"""The executors of a project: which one runs a task, and which are usable on this machine."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.load import Loaded
from ostler.config.settings import ExecutorSettings, Settings
from ostler.errors import Code, OstlerError
from ostler.executors.health import Health, HealthState, Probe
from ostler.executors.protocol import Capabilities
from ostler.executors.registry import ExecutorRegistry
from ostler.executors.survey import get_spec, probe_programs
from ostler.model.task import Task
from ostler.process.runner import DefaultCommandRunner


def require_sandbox(settings: Settings, name: str) -> None:
    """Raise SANDBOX_UNAVAILABLE when an agent would skip all permissions without a sandbox."""
    section = settings.executors.get(name)
    if section and section.permissions == "skip" and not settings.sandbox.allow_unsandboxed_skip:
        raise OstlerError(
            Code.SANDBOX_UNAVAILABLE,
            f'executors.{name}.permissions = "skip" lets the agent do anything on this machine',
            "set sandbox.allow_unsandboxed_skip = true to allow it",
        )


def choose_executor(task: Task, loaded: Loaded) -> str:
    """Return the executor for a task: its own, the one of --executor, that of its role, or the default."""
    run = loaded.settings.run.executor
    if task.executor or loaded.sources["run.executor"].layer == "flag":
        return task.executor or run
    return loaded.settings.agents.get(task.role, run)


def require_executor(settings: Settings, name: str) -> None:
    """Raise UsageError for an executor that is not in the settings and not installed."""
    section = settings.executors.get(name)
    ExecutorRegistry().get(section.type if section and section.type else name)


class ExecutorStatus(Struct, frozen=True):
    name: str
    type: str
    capabilities: Capabilities
    problem: str  # why it cannot be used and how to fix it; empty: usable
    state: HealthState = HealthState.HEALTHY
    version: str = ""  # empty: it has no program with a version
    path: str = ""  # of its program; empty: none


def list_executors(settings: Settings) -> list[ExecutorStatus]:
    """Return the executors of the settings, then the built-in and installed ones; starts nothing."""
    registry = ExecutorRegistry()
    names = dict.fromkeys((*settings.executors, *registry.list()))
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
    own = settings.executors.get(name, ExecutorSettings())
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
