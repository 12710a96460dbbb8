"""Runs the command of a gate with an environment of the commit's lockfile, where there are no namespaces."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from msgspec import Struct

from ostler.calls.thread import run_in_thread
from ostler.engine.steps.progress import report_progress
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.shell import (
    ShellCommand,
    describe_failure,
    last_line,
    read_end,
    run_shell,
)
from ostler.errors import OstlerError
from ostler.files.lock import LockHandle
from ostler.model.notice import StepProgress
from ostler.sandbox.checkout import Checkout
from ostler.sandbox.environments.apply import AppliedEnvironment, apply_environment, plan_recipes
from ostler.sandbox.environments.cache import CachedEnvironment, EnvironmentCache, open_cache
from ostler.sandbox.environments.recipe import PROJECT, NoEnvironment, Recipe
from ostler.sandbox.launch import Launch
from ostler.sandbox.links.link import Link
from ostler.text import strip_control_characters

_P = ParamSpec("_P")
_T = TypeVar("_T")
_POLL_SECONDS = 0.2
_LOG = ".environment.log"
_LOG_BYTES = 65536
# The environment that is active for the user is none of the build.
_WITHOUT_ACTIVE = Launch(prelude="unset VIRTUAL_ENV PYTHONPATH\n")
_ERROR = re.compile(r"^\W*(?:npm )?(?:error|ERR!)\W+(?!code )(?P<text>\S.*)", re.IGNORECASE)  # pip, uv, npm


class GateEnvironment(Struct, frozen=True):
    """What an environment replaces: a checkout, its variables and the links that were found."""

    checkout: Checkout
    environ: dict[str, str]
    links: tuple[Link, ...]
    shell: ShellCommand  # the command of the gate


@contextlib.asynccontextmanager
async def open_environment(
    gate: GateEnvironment, context: TaskContext, services: StepServices
) -> AsyncGenerator[AppliedEnvironment]:
    """Build the environments unless they are cached, and use them in the checkout until the end.

    Raises NoEnvironment with the reason.
    """
    settings = services.settings
    if settings.gates.environment == "off":
        raise NoEnvironment("gates.environment is off")
    recipes = await run_in_thread(
        plan_recipes, gate.checkout, gate.links, gate.environ, settings.workspace.setup, gate.shell.command
    )
    cache = await _use_cache(open_cache, gate.environ)
    with contextlib.ExitStack() as held:
        cached: list[CachedEnvironment] = []
        for recipe in recipes:
            found, lock = await _Build(recipe, cache, gate, context, services).provide()
            held.enter_context(lock)
            cached.append(found)
        await _use_cache(cache.remove_until, settings.gates.environments_max_mb)
        undo = held.enter_context(contextlib.ExitStack())
        yield await _use_cache(
            apply_environment,
            gate.checkout,
            gate.links,
            gate.environ,
            list(zip(recipes, cached, strict=True)),
            undo,
        )


async def _use_cache(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call the function in a thread; raises NoEnvironment for files that cannot be read or written."""
    try:
        return await run_in_thread(function, *args, **kwargs)
    except (OSError, OstlerError) as error:
        raise NoEnvironment(f"the cache of environments cannot be used: {error}") from error


class _Build:
    """Provides one environment within the time limit of a setup."""

    def __init__(
        self,
        recipe: Recipe,
        cache: EnvironmentCache,
        gate: GateEnvironment,
        context: TaskContext,
        services: StepServices,
    ) -> None:
        self._recipe = recipe
        self._cache = cache
        self._gate = gate
        self._context = context
        self._services = services
        self._limit = services.settings.workspace.timeout_seconds

    async def provide(self) -> tuple[CachedEnvironment, LockHandle]:
        """Return the environment and a lock that keeps it; of several processes one builds it."""
        key = self._recipe.key
        deadline = self._services.clock.monotonic() + self._limit
        with report_progress(f"preparing the environment {key}", self._context, self._services):
            while True:
                if found := await _use_cache(self._find):
                    return found
                lock = await _use_cache(self._cache.lock_to_build, key)
                if lock is not None:
                    with lock:
                        await self._build_if_missing()
                elif self._services.clock.monotonic() > deadline:
                    raise NoEnvironment(f"another process uses {key} for more than {self._limit:g} s")
                else:
                    await asyncio.sleep(_POLL_SECONDS)

    def _find(self) -> tuple[CachedEnvironment, LockHandle] | None:
        lock = self._cache.lock_to_use(self._recipe.key)
        if lock is None:
            return None
        found = self._cache.find(self._recipe.key)
        if found is None:
            lock.release()
            return None
        return found, lock

    async def _build_if_missing(self) -> None:
        """Build the environment, unless another process built it before this one had the lock."""
        key = self._recipe.key
        if await _use_cache(self._cache.find, key) is not None:
            return
        if reason := await _use_cache(self._cache.find_failure, key):
            raise NoEnvironment(reason)
        build = await _use_cache(self._cache.start_build, self._recipe)
        reason = await self._run(build)
        if reason:
            await _use_cache(self._cache.record_failure, key, build, reason)
            self._report(reason)
            raise NoEnvironment(reason)
        await _use_cache(self._cache.publish, key, build)

    async def _run(self, build: Path) -> str:
        """Run the command of the recipe; return why it failed, or an empty string."""
        log = self._gate.shell.log.with_suffix(_LOG)
        shown = f"install {self._recipe.describe()}"
        shell = ShellCommand(self._recipe.command, build / PROJECT, log, self._limit, shown)
        ended = await run_shell(shell, self._context, self._services, _WITHOUT_ACTIVE)
        if ended.status == 0 and ended.stopped is None:
            return ""
        cause = await run_in_thread(_find_cause, log)
        if ended.status > 0 and ended.stopped is None and cause:
            return f"`{shown}` exited with {ended.status}: {cause}"
        return describe_failure(shell, ended)

    def _report(self, reason: str) -> None:
        log = self._gate.shell.log.with_suffix(_LOG)
        name = os.path.relpath(log, self._services.layout.task(self._context.state.task))
        notice = StepProgress(f"the gate has no environment of its lockfile: {reason}", name)
        self._services.writer.notify(self._context.state.task, self._services.clock.now(), [notice])


def _find_cause(log: Path) -> str:
    """Return the first error in the output; hints follow it."""
    lines = read_end(log, _LOG_BYTES).splitlines()
    found = next(filter(None, map(_ERROR.match, map(strip_control_characters, lines))), None)
    return last_line(found["text"]) if found else ""
