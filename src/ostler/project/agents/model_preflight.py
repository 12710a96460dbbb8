"""Checks the models of a run before it claims tasks, and starts as soon as enough of them are ready (C27).

The checks are cheap: program, version, login, and the known limits of the account. Models whose check takes
longer join when it ends. A task whose models all failed is not changed by this: its call reports the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from threading import Event

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.models.availability import ModelAvailability, Unavailable
from ostler.clock import Clock
from ostler.config.settings import PreflightSettings
from ostler.engine.task_queue import is_runnable
from ostler.errors import Code, OstlerError
from ostler.executors.health import CachedProbe, HealthState, LoginStatus, check_login, probe_program
from ostler.executors.registry import ExecutorRegistry, find_section
from ostler.executors.survey import get_spec
from ostler.model.ids import TaskId
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.model.task import Task
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents.executors import check_permissions
from ostler.project.agents.model_pool import find_models
from ostler.project.project import Project

_PARALLEL_CHECKS = 3
_MAX_TASKS = 50  # whose models are looked up
_KEEP_SECONDS = 60.0  # a worker does not repeat a check that passed for so long


class CheckedModel(Struct, frozen=True):
    """The result of the check of one model."""

    name: str
    executor: str
    code: Code | None = None  # None: it is ready
    message: str = ""
    fix: str = ""  # the command that corrects it
    is_limited: bool = False  # it is ready once a limit of its account ends

    @property
    def is_ready(self) -> bool:
        return self.code is None and not self.is_limited


class ModelsNotReady(OstlerError):
    """Too few models passed; no task was changed."""

    def __init__(self, checked: Sequence[CheckedModel], minimum: int) -> None:
        failed = [one for one in checked if one.code is not None]
        ready = len(checked) - len(failed)
        what = f"only {ready} of {len(checked)} models are ready, fewer than preflight.min_models = {minimum}"
        title = f"{what if ready else 'no model is ready'}; no task was started"
        logins = any(one.code is Code.AUTH_FAILED for one in failed)
        code = Code.AUTH_FAILED if logins else Code.CONFIG_INVALID
        message = "\n".join((title, *_format_table(failed)))
        super().__init__(code, message, "correct one of them, then run again; ostler doctor shows more")


class ModelPreflight:
    """The checks of one process; the calls of a run ask it which models to leave out."""

    def __init__(
        self,
        project: Project,
        registry: ExecutorRegistry,
        environ: Mapping[str, str],
        clock: Clock,
        print_message: Callable[[str], None],
    ) -> None:
        self._project = project
        self._registry = registry
        self._environ = environ
        self._clock = clock
        self._print_message = print_message
        self._passed: dict[Hashable, float] = {}  # when the check of a model passed
        self._checked: dict[str, CheckedModel | None] = {}  # by name; None: not yet
        self._has_begun = False  # tasks are started
        self._stopped = Event()
        self._changed = asyncio.Condition()
        self._version_probe = CachedProbe(
            probe=lambda path: probe_program(
                path, seconds=self._settings.timeout_seconds, is_stopped=self._stopped.is_set
            )
        )

    @property
    def _settings(self) -> PreflightSettings:
        return self._project.settings.preflight

    @asynccontextmanager
    async def run(
        self, models: Sequence[ModelConfig], get_availability: Callable[[], ModelAvailability]
    ) -> AsyncGenerator[None]:
        """Check these models, wait for enough of them, and go on checking during the block.

        Raises ModelsNotReady when too few can be used.
        """
        if not self._is_wanted(models):
            self._checked = {}
            yield
            return
        self._checked = dict.fromkeys(model.name for model in models)
        self._has_begun = False
        self._stopped.clear()
        limit, availability = asyncio.Semaphore(_PARALLEL_CHECKS), get_availability()
        checks = [asyncio.create_task(self._check(group, limit, availability)) for group in _group(models)]
        try:
            await self._wait_for_minimum(len(models))
            self._has_begun = True
            yield
        finally:
            self._stopped.set()  # ends the programs of checks that nobody waits for any more
            for check in checks:
                check.cancel()
            await asyncio.gather(*checks, return_exceptions=True)

    async def wait_for(self, pool: ModelPool) -> None:
        """See ModelReadiness.wait_for."""
        names = [model.name for model in pool.models if model.name in self._checked]
        async with self._changed:
            await self._changed.wait_for(lambda: not names or self._is_decided(names))

    def check(self, model: ModelConfig, pool: ModelPool) -> Unavailable | None:
        """See ModelReadiness.check."""
        others = (self._checked.get(one.name) for one in pool.models)
        if model.name not in self._checked or not any(one is not None and one.is_ready for one in others):
            return None
        checked = self._checked[model.name]
        if checked is None:
            return Unavailable("skipped", Code.MODELS_EXHAUSTED, "its check has not ended")
        if checked.code is None:
            return None
        is_missing = checked.code is Code.AGENT_NOT_FOUND
        return Unavailable("missing" if is_missing else "off", checked.code, checked.message)

    def _is_wanted(self, models: Sequence[ModelConfig]) -> bool:
        """With one model there is no choice: its first call is the check, and costs no more."""
        match self._settings.models:
            case "never":
                return False
            case "always":
                return bool(models)
            case "auto":
                return len(_group(models)) > 1 or (self._settings.call and bool(models))

    def _is_decided(self, names: Sequence[str]) -> bool:
        found = [self._checked.get(name) for name in names]
        return None not in found or any(one is not None and one.is_ready for one in found)

    async def _wait_for_minimum(self, count: int) -> None:
        """Wait for the minimum, and a moment longer so that a slower model of higher rank is not missed."""
        minimum = min(self._settings.min_models, count)
        async with self._changed:
            await self._changed.wait_for(lambda: self._count_ready() >= minimum or self._is_finished())
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.settle_seconds):
                    await self._changed.wait_for(self._is_finished)
        known = [one for one in self._checked.values() if one is not None]
        if self._is_finished() and self._count_ready() < minimum and not any(one.is_limited for one in known):
            raise ModelsNotReady(known, minimum)

    def _count_ready(self) -> int:
        return sum(one is not None and one.is_ready for one in self._checked.values())

    def _is_finished(self) -> bool:
        return None not in self._checked.values()

    async def _check(
        self, group: list[ModelConfig], limit: asyncio.Semaphore, availability: ModelAvailability
    ) -> None:
        """Check models with the same program and login once, and record the result for each."""
        async with limit:
            started = self._clock.monotonic()
            found = await self._check_first(group[0])
            seconds = self._clock.monotonic() - started
        async with self._changed:
            for model in group:
                blocked = availability.find_blocked(ModelPool((model,)), "P2", has_begun=True)
                limited = found.code is None and bool(blocked)
                self._checked[model.name] = replace(found, name=model.name, is_limited=limited)
            self._changed.notify_all()
        self._report(group, found, seconds)

    async def _check_first(self, model: ModelConfig) -> CheckedModel:
        """Return the result; an exception is one, too, because the run waits for every result."""
        try:
            return await self._check_one(model)
        except Exception as error:  # noqa: BLE001  (an executor of another package may raise anything)
            message = f"its check failed: {type(error).__name__}: {error}"
            return CheckedModel(model.name, model.executor, Code.AGENT_INCOMPATIBLE, message)

    async def _check_one(self, model: ModelConfig) -> CheckedModel:
        passed_at = self._passed.get(key := _group_key(model))
        if passed_at is not None and self._clock.monotonic() - passed_at < _KEEP_SECONDS:
            return CheckedModel(model.name, model.executor)
        found = await asyncio.to_thread(self._check_program, model)
        if found.code is None and self._settings.call:
            found = await self._call(model, found)
        if found.code is None:
            self._passed[key] = self._clock.monotonic()
        return found

    def _check_program(self, model: ModelConfig) -> CheckedModel:
        """Return whether the program of a model exists, starts and is logged in."""
        settings, ready = self._project.settings, CheckedModel(model.name, model.executor)
        try:
            check_permissions(settings, model)
            executor = self._registry.make_for(model, settings.executors, DefaultCommandRunner())
            executor.validate_availability()
        except OstlerError as error:
            return replace(ready, code=error.code, message=error.message, fix=error.hint)
        spec, section = get_spec(executor), find_section(model.executor, settings.executors)
        if spec is None:
            return ready
        program = spec.program
        path = program.find(command=section.command, instance=executor.name).path or ""
        health = self._version_probe(path)
        if health.state is HealthState.TIMEOUT:
            return replace(ready, message=health.detail)
        if health.state is not HealthState.HEALTHY:
            return replace(ready, code=Code.AGENT_INCOMPATIBLE, message=health.detail, fix=program.install)
        environ = {**self._environ, **section.env, **model.env}
        if check_login(program, path, environ, self._stopped.is_set) is LoginStatus.NO:
            login = program.login_command
            return replace(ready, code=Code.AUTH_FAILED, message="not logged in", fix=login)
        return ready

    async def _call(self, model: ModelConfig, ready: CheckedModel) -> CheckedModel:
        """Return whether the model answers a short prompt."""
        from ostler.project.agents.model_check import check_models  # noqa: PLC0415  (it may cost money)

        answer = (await check_models(self._project, [model], self._environ)).get(model.name)
        if answer is None or answer.ok:
            return ready  # a model at its limit is not called
        return replace(ready, code=answer.code, message=answer.message, fix="ostler models --check")

    def _report(self, group: list[ModelConfig], found: CheckedModel, seconds: float) -> None:
        names = ", ".join(model.name for model in group)
        if found.code is not None:
            fix = f"  Next: {found.fix}" if found.fix else ""
            verb = "is" if len(group) == 1 else "are"
            is_named = found.executor == names or found.message.startswith(f"{found.executor} ")
            agent = "" if is_named else f"{found.executor}: "
            self._print_message(f"{names} {verb} not used: {agent}{found.message}{fix}")
        elif found.message:
            self._print_message(f"{names}: {found.executor} is slow: {found.message}; it is used")
        elif self._has_begun:
            self._print_message(f"{names} is ready after {seconds:.0f} s and is used from now on")


def list_models_to_check(project: Project, tasks: Sequence[TaskId] | None, now: float) -> list[ModelConfig]:
    """Return the enabled models that the due tasks of a run may use; empty: there is nothing to check."""
    settings = project.settings
    if settings.preflight.models == "auto" and len(settings.models) < 2 and not settings.preflight.call:
        return []
    rows = (row for row in project.journal.open_rows() if is_runnable(row, now))
    due = [row.id for row in rows if not tasks or row.id in tasks]
    # A task without role, model or executor may use every model.
    named = [project.task(task) for task in due[:_MAX_TASKS]] if tasks else [Task("", role="")]
    found = [model for task in named if due for model in find_models(project, task).models if model.enabled]
    return list({model.name: model for model in found}.values())


def _group(models: Sequence[ModelConfig]) -> list[list[ModelConfig]]:
    groups: dict[Hashable, list[ModelConfig]] = {}
    for model in models:
        groups.setdefault(_group_key(model), []).append(model)
    return list(groups.values())


def _group_key(model: ModelConfig) -> Hashable:
    """Models with the same program and login share one check."""
    return model.executor, model.args, tuple(sorted(model.env.items()))


def _format_table(failed: Sequence[CheckedModel]) -> list[str]:
    rows = [(one.name, one.executor, one.message, one.fix) for one in failed]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    return [
        "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3])).rstrip()
        for row in rows
    ]
