"""Maps names to executors; the module of an executor is imported on first use."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.errors import UsageError
from ostler.executors.protocol import Executor, ExecutorFactory, SearchesPrograms
from ostler.model.policy.model_config import ModelConfig
from ostler.process.protocol import CommandRunner

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

BUILT_IN = {
    "acp": "ostler.executors.acp.executor:acp",
    "amp": "ostler.executors.command:amp",
    "claude": "ostler.executors.claude.executor:ClaudeExecutor",
    "claude-acp": "ostler.executors.acp.executor:claude",
    "codex": "ostler.executors.codex:CodexExecutor",
    "codex-acp": "ostler.executors.acp.executor:codex",
    "command": "ostler.executors.command:CommandExecutor",
    "copilot": "ostler.executors.copilot:CopilotExecutor",
    "copilot-acp": "ostler.executors.acp.executor:copilot",
    "crush": "ostler.executors.command:crush",
    "cursor": "ostler.executors.cursor:CursorExecutor",
    "droid": "ostler.executors.command:droid",
    "gemini": "ostler.executors.gemini:GeminiExecutor",
    "gemini-acp": "ostler.executors.acp.executor:gemini",
    "kilocode": "ostler.executors.command:kilocode",
    "kimi": "ostler.executors.command:kimi",
    "model_api": "ostler.executors.model_api.executor:ModelApiExecutor",
    "opencode": "ostler.executors.opencode:OpencodeExecutor",
    "opencode-acp": "ostler.executors.acp.executor:opencode",
    "qwen": "ostler.executors.qwen:QwenExecutor",
    "qwen-acp": "ostler.executors.acp.executor:qwen",
    "scripted": "ostler.executors.scripted.executor:ScriptedExecutor",
}
ALIASES = {"claude-code": "claude"}
ENTRY_POINTS = "ostler.executors"
_DEFAULTS = ExecutorSettings()
_EXPECTED = "pass a factory (name, settings, runner), an executor or module:attribute"


class ExecutorRegistry:
    """Maps names to factories: the built-in types, registered ones, and those of installed packages."""

    def __init__(self) -> None:
        self._factories: dict[str, ExecutorFactory | str] = dict(BUILT_IN)

    def register(
        self, name: str, factory: ExecutorFactory | Executor | str, *, replaces: bool = False
    ) -> None:
        """Add a type: a factory, its path `module:attribute`, or an executor, which all its users share.

        An executor is used as it is: the settings of its name do not change it.
        """
        if not isinstance(name, str) or not name.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            what = "is empty" if isinstance(name, str) else f"is not a text: {name!r:.40}"  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"the name of an executor {what}", "pass a name such as my-agent")
        name = ALIASES.get(name, name)
        if name in self._factories and not replaces:
            raise UsageError(f"executor {name} is already registered", "choose another name")
        self._factories[name] = _as_factory(name, factory)

    def get(self, name: str) -> ExecutorFactory:
        """Return the factory of a type; raise UsageError when there is none."""
        name = ALIASES.get(name, name)
        found = self._factories.get(name) or _installed(name)
        if found is None:
            raise UsageError(f"unknown executor: {name}", f"available: {', '.join(self.list())}")
        return _load(name, found) if isinstance(found, str) else found

    def has(self, name: str) -> bool:
        """Return whether there is a type with this name."""
        name = ALIASES.get(name, name)
        return name in self._factories or _installed(name) is not None

    def list(self, *, aliases: bool = True) -> builtins.list[str]:
        """Return every name that `get` accepts; without aliases, each type has one name."""
        more = ALIASES if aliases else ()
        return sorted({*self._factories, *more, *(point.name for point in _entry_points())})

    def make(self, name: str, settings: Mapping[str, ExecutorSettings], runner: CommandRunner) -> Executor:
        """Make the executor with this name in the settings; several names may share one type."""
        return self.make_for(ModelConfig(name, name), settings, runner)

    def make_for(
        self,
        model: ModelConfig,
        settings: Mapping[str, ExecutorSettings],
        runner: CommandRunner,
        environ: Mapping[str, str] | None = None,
    ) -> Executor:
        """Make the executor of a model, with the arguments and variables of the model.

        It searches its program with `environ`, by default that of this process.
        """
        name = resolve_name(model.executor, settings)
        own = find_section(name, settings)
        executor = self.get(own.type or name)(name, _with_own(own, model), runner)
        if environ is not None and isinstance(executor, SearchesPrograms):
            executor.environ = environ
        return executor


def _as_factory(name: str, factory: object) -> ExecutorFactory | str:
    if isinstance(factory, str):
        return factory
    is_executor = callable(getattr(factory, "spawn", None)) and not isinstance(factory, type)
    if is_executor:
        return lambda name, settings, runner: cast(Executor, factory)
    if not callable(factory) or not _takes_three(factory):
        what = f"cannot register {type(factory).__name__} as executor {name}"
        raise UsageError(what, _EXPECTED)
    return cast(ExecutorFactory, factory)


def _takes_three(factory: Callable[..., object]) -> bool:
    """Return whether a factory can be called with name, settings and runner."""
    from inspect import signature  # noqa: PLC0415  (only own executors need it)

    try:
        signature(factory).bind("", _DEFAULTS, None)
    except TypeError:
        return False
    except ValueError:  # it has no signature in Python
        return True
    return True


def _with_own(settings: ExecutorSettings, choice: ModelConfig) -> ExecutorSettings:
    args, env = (*settings.args, *choice.args), {**settings.env, **choice.env}
    permissions = choice.permissions or settings.permissions
    return replace(settings, args=args, env=env, permissions=permissions)


def resolve_name(name: str, settings: Mapping[str, ExecutorSettings]) -> str:
    """Return the name of an executor without its alias, unless the settings have a section for the alias."""
    return name if name in settings else ALIASES.get(name, name)


def find_section(name: str, settings: Mapping[str, ExecutorSettings]) -> ExecutorSettings:
    """Return the settings of an executor by its name or alias."""
    return settings.get(resolve_name(name, settings), _DEFAULTS)


def resolve_type(name: str, settings: Mapping[str, ExecutorSettings]) -> str:
    """Return the type of an executor by its name or alias."""
    kind = find_section(name, settings).type or name
    return ALIASES.get(kind, kind)


def _installed(name: str) -> str | None:
    return next((point.value for point in _entry_points() if point.name == name), None)


def _entry_points() -> EntryPoints:
    from importlib.metadata import entry_points  # noqa: PLC0415  (10 ms, and only the executors of other packages need it)

    return entry_points(group=ENTRY_POINTS)


def _load(name: str, path: str) -> ExecutorFactory:
    module, _, attribute = path.partition(":")
    try:
        found: object = getattr(import_module(module), attribute)
    # The module of another package may raise anything.
    except Exception as error:
        hint = "install its package, or correct its path module:attribute"
        raise UsageError(f"executor {name} cannot be loaded from {path}: {error}", hint) from error
    if BUILT_IN.get(name) == path:
        return cast(ExecutorFactory, found)
    if isinstance(found, str):
        raise UsageError(f"executor {name} cannot be loaded from {path}: it is a text", _EXPECTED)
    return cast(ExecutorFactory, _as_factory(name, found))
