"""Loads the plugins of a run and passes the events of its calls to them."""

from __future__ import annotations

import asyncio
import builtins
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib import import_module, invalidate_caches
from importlib.machinery import PathFinder
from inspect import isawaitable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ostler.calls.hooks import METHODS, Hook
from ostler.config.settings import PluginSettings
from ostler.errors import UsageError

ENTRY_POINTS = "ostler.plugins"
PLUGIN_FOLDER = Path(".agents", "plugins")
CALL_TIMEOUT_SECONDS = 5.0  # for one call of a method
CLOSE_TIMEOUT_SECONDS = 2.0  # at the end of a run, for events that are still queued
MAX_FAILURES = 3
MAX_QUEUED = 10_000

_FORM, _FORM_HINT = "expected a module and a name in it", "write it as package.module:Name"

Method = Callable[[Any], object]


class PluginRegistry:
    """The plugins of one run."""

    def __init__(
        self, logger: logging.Logger | None = None, timeout_seconds: float = CALL_TIMEOUT_SECONDS
    ) -> None:
        self._logger = logger or logging.getLogger(__name__)
        self._timeout = timeout_seconds
        self._plugins: dict[str, PluginThread] = {}
        self._capabilities: dict[str, str] = {}

    def register(self, plugin: object, name: str = "") -> None:
        """Add a plugin. Raises UsageError for a duplicate name and for an object that is not a plugin."""
        name = name or str(getattr(plugin, "name", "") or type(plugin).__name__)
        if name in self._plugins:
            raise UsageError(f"plugin {name} is already registered", "load it once, or rename one of them")
        attributes = {hook: getattr(plugin, method, None) for hook, method in METHODS.items()}
        methods = {hook: method for hook, method in attributes.items() if callable(method)}
        capabilities = getattr(plugin, "capabilities", "")
        if not isinstance(capabilities, str) or not (methods or capabilities):
            names = ", ".join(METHODS.values())
            raise UsageError(f"plugin {name} has none of {names}, nor a text named capabilities")
        self._plugins[name] = PluginThread(name, methods, self._logger, self._timeout)
        self._capabilities[name] = capabilities.strip()

    def list(self) -> builtins.list[str]:
        """Return the names, in the order of registration."""
        return [*self._plugins]

    @property
    def is_empty(self) -> bool:
        """Whether there is no plugin, as in most projects."""
        return not self._plugins

    @property
    def disabled(self) -> builtins.list[str]:
        """The names of the plugins that failed too often."""
        return [name for name, plugin in self._plugins.items() if plugin.disabled]

    def notify(self, hook: Hook) -> None:
        """Queue the event for every plugin; never waits, never raises."""
        for plugin in self._plugins.values():
            plugin.enqueue(hook)

    def with_capabilities(self, prompt: str) -> str:
        """Return the prompt, followed by the capabilities of the plugins."""
        texts = [text for name, text in self._capabilities.items() if text and name not in self.disabled]
        return "\n\n".join((prompt.rstrip(), "# Plugin Capabilities", *texts)) + "\n" if texts else prompt

    async def close(self, seconds: float = CLOSE_TIMEOUT_SECONDS) -> None:
        """Let the plugins handle the queued events, for so many seconds at most."""
        until = time.monotonic() + seconds
        for plugin in self._plugins.values():
            await asyncio.to_thread(plugin.close, max(0.0, until - time.monotonic()))


class PluginThread:
    """Calls the methods of one plugin in a thread, until it has failed too often.

    `enqueue` and `close` must be called from one thread.
    """

    def __init__(
        self, name: str, methods: Mapping[type, Method], logger: logging.Logger, timeout_seconds: float
    ) -> None:
        self._name, self._methods = name, methods
        self._logger = logger
        self._timeout = timeout_seconds
        self._queue: SimpleQueue[object] = SimpleQueue()  # None: the end
        self._thread: threading.Thread | None = None
        self._busy_since: float | None = None
        self._failures = 0
        self.disabled = False

    def enqueue(self, hook: object) -> None:
        """Queue an event; ignored if the plugin has no method for it."""
        if self.disabled or type(hook) not in self._methods:
            return
        if self._queue.qsize() >= MAX_QUEUED or self._hangs():
            self._disable("it is too slow")
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"plugin {self._name}", daemon=True)
            self._thread.start()
        self._queue.put(hook)

    def close(self, seconds: float) -> None:
        """Wait until the queue is empty, for so many seconds at most."""
        if self._thread is None:
            return
        self._queue.put(None)
        if not self.disabled:
            self._thread.join(seconds)

    def _hangs(self) -> bool:
        # A method that does not return counts as one failure per timeout.
        since = self._busy_since
        return (
            since is not None and (time.monotonic() - since) / self._timeout >= MAX_FAILURES - self._failures
        )

    def _run(self) -> None:
        loop = asyncio.new_event_loop()
        try:
            while (hook := self._queue.get()) is not None and not self.disabled:
                self._call(hook, loop)
        finally:
            loop.close()

    def _call(self, hook: object, loop: asyncio.AbstractEventLoop) -> None:
        self._busy_since = started = time.monotonic()
        try:
            result = self._methods[type(hook)](hook)
            if isawaitable(result):
                loop.run_until_complete(_await_within(result, self._timeout))
            if (took := time.monotonic() - started) > self._timeout:
                self._record_failure(hook, f"it took {took:.1f} s")
        except BaseException as error:  # noqa: BLE001  (foreign code; even SystemExit ends only this call)
            self._record_failure(hook, f"{type(error).__name__}: {error}")
        finally:
            self._busy_since = None

    def _record_failure(self, hook: object, reason: str) -> None:
        self._failures += 1
        failure = f"{type(hook).__name__}: {reason}"
        if self._failures >= MAX_FAILURES:
            self._disable(f"it failed {MAX_FAILURES} times, last at {failure}")
        else:
            self._logger.warning("plugin %s failed at %s", self._name, failure)

    def _disable(self, reason: str) -> None:
        if not self.disabled:
            self.disabled = True
            self._logger.warning("plugin %s is disabled for this run: %s", self._name, reason)


async def _await_within(awaitable: Awaitable[object], seconds: float) -> None:
    async with asyncio.timeout(seconds):
        await awaitable


def load_plugins(
    settings: PluginSettings, logger: logging.Logger | None = None, root: Path | None = None
) -> PluginRegistry:
    """Load the plugins of the settings, also from .agents/plugins of a project, and of installed packages.

    Raises UsageError for a plugin of the settings that cannot be loaded.
    """
    registry = PluginRegistry(logger)
    if root is not None and settings.load:
        _add_to_path(root / PLUGIN_FOLDER)
    for path in settings.load:
        _load_configured(registry, path)
    if may_have_plugins(sys.path):
        _load_installed(registry, logger or logging.getLogger(__name__))
    return registry


def _load_configured(registry: PluginRegistry, path: str) -> None:
    try:
        registry.register(_create_plugin(path))
    except UsageError as error:
        raise UsageError(f'plugins.load: "{path}": {error.message}', error.hint) from error
    except Exception as error:  # foreign code is imported and called here
        name = path.partition(":")[0].partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and error.name == name:
            raise _missing_module(path, name) from error
        reason = f"{type(error).__name__}: {error}"
        hint = "fix the plugin, or remove it from plugins.load"
        raise UsageError(f'plugins.load: "{path}" cannot be loaded: {reason}', hint) from error


def _add_to_path(folder: Path) -> None:
    """Let modules be imported from a directory; last, so that it cannot replace other modules."""
    if folder.is_dir() and str(folder) not in sys.path:
        sys.path.append(str(folder))
        invalidate_caches()


def find_missing_module(path: str, root: Path) -> str:
    """Return why an entry cannot be loaded, as far as the files show it; imports nothing."""
    try:
        module, attribute = _split(path)
    except UsageError as error:
        return f'"{path}": {error.message}; {error.hint}'
    name = module.partition(".")[0]
    if PathFinder.find_spec(name, [*sys.path, str(root / PLUGIN_FOLDER)]) is None:
        error = _missing_module(path, name)
        return f"{error.message.removeprefix('plugins.load: ')}; {error.hint}"
    file = root / PLUGIN_FOLDER / f"{module}.py"
    return _find_mistake(file, attribute) if file.is_file() else ""


def _find_mistake(file: Path, attribute: str) -> str:
    """Return why a module of the project has no such name: a syntax error, or the name is not in its text."""
    import ast  # noqa: PLC0415  (most projects have no plugin)

    place = f"{PLUGIN_FOLDER}/{file.name}"
    try:
        text = file.read_text()
        ast.parse(text)
    except SyntaxError as error:
        return f"{place}:{error.lineno}: {error.msg}"
    except (OSError, ValueError) as error:
        return f"{place} cannot be read: {error}"
    is_named = re.search(rf"\b{attribute}\b|import \*|__getattr__", text)
    return "" if is_named else f"{place} has no {attribute}"


def _missing_module(path: str, name: str) -> UsageError:
    return UsageError(
        f'plugins.load: "{path}": no module {name} in {PLUGIN_FOLDER}/, nor in the packages of {sys.prefix}',
        f"create {PLUGIN_FOLDER}/{name}.py, or install its package there",
    )


def _create_plugin(path: str) -> object:
    """Import `module:attribute`; a class is instantiated."""
    module, attribute = _split(path)
    found: object = getattr(import_module(module), attribute)
    return found() if isinstance(found, type) else found


def _split(path: str) -> tuple[str, str]:
    """Return the module and the name in it; raises UsageError."""
    module, _, attribute = path.partition(":")
    if not (attribute.isidentifier() and all(part.isidentifier() for part in module.split("."))):
        raise UsageError(_FORM, _FORM_HINT)
    return module, attribute


def _load_installed(registry: PluginRegistry, logger: logging.Logger) -> None:
    # Imported here: it takes longer than everything else in this module.
    from importlib.metadata import entry_points  # noqa: PLC0415

    for point in entry_points(group=ENTRY_POINTS):
        try:
            registry.register(_create_plugin(point.value), point.name)
        except Exception as error:  # noqa: BLE001  (foreign code)
            logger.warning("plugin %s of an installed package is skipped: %s", point.name, error)


def may_have_plugins(search_path: Iterable[str]) -> bool:
    """Return whether a package on the path may have plugins; ten times faster than reading entry points."""
    return any(_mentions_plugins(directory) for directory in dict.fromkeys(search_path))


def _mentions_plugins(directory: str) -> bool:
    if directory.endswith((".zip", ".egg")):
        return os.path.exists(directory)  # noqa: PTH110  (hot: once for each entry of a long path)
    try:
        with os.scandir(directory or ".") as found:
            packages = [entry.path for entry in found if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return False
    return any(_contains_group(f"{package}/entry_points.txt") for package in packages)


def _contains_group(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return ENTRY_POINTS.encode() in file.readall()
    except OSError:
        return False
