"""The agents that Ostler knows, and which of them are on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from msgspec import Struct

from ostler.config.load import Loaded
from ostler.config.settings import Settings
from ostler.errors import Code, OstlerError
from ostler.executors.known import PROGRAMS, version
from ostler.executors.registry import ExecutorRegistry
from ostler.model.task import Task


class Program(Struct, frozen=True):
    name: str
    path: str | None
    install: str
    version: Callable[[], str]


def survey(environ: Mapping[str, str]) -> list[Program]:
    """Every agent program that has an executor here, found or not."""
    found = [(program, program.find(environ).path) for program in PROGRAMS]
    return [Program(one.name, path, one.install, partial(version, path or "")) for one, path in found]


def require_sandbox(settings: Settings, name: str) -> None:
    """Refuse an agent that skips every permission where nothing holds it; there is no silent fall-back."""
    section = settings.executors.get(name)
    if section and section.permissions == "skip" and not settings.sandbox.allow_unsandboxed_skip:
        raise OstlerError(
            Code.SANDBOX_UNAVAILABLE,
            f'executors.{name}.permissions = "skip" lets the agent do anything on this machine',
            "set sandbox.allow_unsandboxed_skip = true if that is what you want",
        )


def executor_for(task: Task, loaded: Loaded) -> str:
    """Which executor works on a task: its own, the one asked for now, its role's, or the default."""
    run = loaded.settings.run.executor
    if task.executor or loaded.sources["run.executor"].layer == "flag":
        return task.executor or run
    return loaded.settings.agents.get(task.role, run)


def known_executor(settings: Settings, name: str) -> None:
    """Raise UsageError for a name that neither the settings nor an installed package know."""
    section = settings.executors.get(name)
    ExecutorRegistry().get(section.type if section and section.type else name)
