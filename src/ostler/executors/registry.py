"""Executors by name; the code behind a name is imported when it is first asked for."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import UsageError
from ostler.executors.protocol import Executor, ExecutorFactory
from ostler.model.choice import Choice
from ostler.process.protocol import CommandRunner

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

BUILT_IN = {
    "acp": "ostler.executors.acp:acp",
    "amp": "ostler.executors.presets:amp",
    "claude": "ostler.executors.claude:ClaudeExecutor",
    "claude-acp": "ostler.executors.acp:claude",
    "codex": "ostler.executors.codex:CodexExecutor",
    "codex-acp": "ostler.executors.acp:codex",
    "command": "ostler.executors.command:CommandExecutor",
    "copilot": "ostler.executors.copilot:CopilotExecutor",
    "copilot-acp": "ostler.executors.acp:copilot",
    "crush": "ostler.executors.presets:crush",
    "cursor": "ostler.executors.cursor:CursorExecutor",
    "droid": "ostler.executors.presets:droid",
    "gemini": "ostler.executors.gemini:GeminiExecutor",
    "gemini-acp": "ostler.executors.acp:gemini",
    "kilocode": "ostler.executors.presets:kilocode",
    "kimi": "ostler.executors.presets:kimi",
    "model_api": "ostler.executors.model_api:ModelApiExecutor",
    "opencode": "ostler.executors.opencode:OpencodeExecutor",
    "opencode-acp": "ostler.executors.acp:opencode",
    "qwen": "ostler.executors.qwen:QwenExecutor",
    "qwen-acp": "ostler.executors.acp:qwen",
    "scripted": "ostler.executors.scripted:ScriptedExecutor",
}
ALIASES = {"claude-code": "claude"}
ENTRY_POINTS = "ostler.executors"


class ExecutorRegistry:
    """Names to factories: the built-in types, what is registered here, what installed packages offer."""

    def __init__(self) -> None:
        self._factories: dict[str, ExecutorFactory | str] = dict(BUILT_IN)

    def register(self, name: str, factory: ExecutorFactory | str, *, replaces: bool = False) -> None:
        """Add a type: a factory, or the dotted path `module:attribute` of one."""
        if name in self._factories and not replaces:
            raise UsageError(f"executor {name} is already registered", "choose another name")
        self._factories[name] = factory

    def get(self, name: str) -> ExecutorFactory:
        """The factory behind a name; raises UsageError for a name that nobody knows."""
        name = ALIASES.get(name, name)
        found = self._factories.get(name) or _installed(name)
        if found is None:
            raise UsageError(f"unknown executor: {name}", f"known are {', '.join(self.list())}")
        return _load(name, found) if isinstance(found, str) else found

    def list(self) -> builtins.list[str]:
        """Every name that get() answers to."""
        return sorted({*self._factories, *(point.name for point in _entry_points())})

    def make(self, name: str, settings: Mapping[str, ExecutorSettings], runner: CommandRunner) -> Executor:
        """The executor that the settings call by this name; several may share one type."""
        return self.make_for(Choice(name, name), settings, runner)

    def make_for(
        self, choice: Choice, settings: Mapping[str, ExecutorSettings], runner: CommandRunner
    ) -> Executor:
        """The executor of a model, with the arguments and variables of that model added."""
        name = choice.executor
        own = settings.get(name) or settings.get(ALIASES.get(name, name)) or ExecutorSettings()
        return self.get(own.type or name)(name, _with_own(own, choice), runner)


def _with_own(settings: ExecutorSettings, choice: Choice) -> ExecutorSettings:
    args, env = (*settings.args, *choice.args), {**settings.env, **choice.env}
    return replace(settings, args=args, env=env)


def kind_of(name: str, settings: Mapping[str, ExecutorSettings]) -> str:
    """The type behind an executor's name: several names may share one."""
    own = settings.get(name)
    kind = own.type if own and own.type else name
    return ALIASES.get(kind, kind)


def _installed(name: str) -> str | None:
    return next((point.value for point in _entry_points() if point.name == name), None)


def _entry_points() -> EntryPoints:
    from importlib.metadata import entry_points  # noqa: PLC0415  (10 ms, and only other people's need it)

    return entry_points(group=ENTRY_POINTS)


def _load(name: str, path: str) -> ExecutorFactory:
    module, _, attribute = path.partition(":")
    try:
        found: object = getattr(import_module(module), attribute)
    except Exception as error:  # it may be anyone's code, and no bug of ours
        raise UsageError(f"executor {name} cannot be loaded from {path}: {error}") from error
    return cast(ExecutorFactory, found)
