"""The agents that Ostler knows, and which of them are on this machine."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ostler.config.load import Loaded
from ostler.config.settings import Settings
from ostler.errors import Code, OstlerError
from ostler.executors.known import PROGRAMS, KnownProgram
from ostler.executors.registry import ExecutorRegistry
from ostler.model.task import Task


class Program(Struct, frozen=True):
    known: KnownProgram
    path: str | None

    @property
    def name(self) -> str:
        return self.known.name


def survey(environ: Mapping[str, str]) -> list[Program]:
    """Every agent program that has an executor here, found or not."""
    return [Program(known, known.find(environ).path) for known in PROGRAMS]


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
