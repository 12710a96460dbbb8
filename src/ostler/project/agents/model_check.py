"""Sends a short prompt to each model to see which of them answer (C27), and records the limits it meets."""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing

from msgspec.structs import replace

from ostler.calls.attempts.base_call import create_base_call, identity_variables
from ostler.calls.models.availability import ModelAvailability, Unavailable
from ostler.clock import SystemClock
from ostler.errors import Code, OstlerError, is_provider_limit
from ostler.executors.protocol import Executor
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall, CallResult
from ostler.model.limits.limit import Probe
from ostler.model.policy.model_config import ModelConfig
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents.call_services import create_availability
from ostler.project.agents.executors import check_permissions
from ostler.project.project import Project
from ostler.store.accounts.sqlite import open_accounts
from ostler.views.models import ProbeResult

PROMPT = 'Say "OK" and nothing else.'
TIMEOUT_SECONDS = 30.0
PARALLEL_CALLS = 3


async def check_models(
    project: Project,
    models: Sequence[ModelConfig],
    environ: Mapping[str, str],
    seconds: float = TIMEOUT_SECONDS,
    on_problem: Callable[[str], None] = lambda _: None,
) -> dict[str, ProbeResult]:
    """Return the answer of each model by name; models with the same program, model and account share one
    call. A model at its limit is not called and has no answer.
    """
    project.require_person("call models")
    with (
        closing(project.store.open_ledger()) as ledger,
        closing(open_accounts(environ, on_problem)) as accounts,
    ):
        availability = create_availability(project, ledger, accounts, SystemClock())
        return await _ModelCheck(project, availability, environ, seconds).run(models)


class _ModelCheck:
    """The calls of one check; they share the lease of a probe."""

    def __init__(
        self, project: Project, availability: ModelAvailability, environ: Mapping[str, str], seconds: float
    ) -> None:
        self._project = project
        self._availability = availability
        self._environ = environ
        self._seconds = seconds
        self._caller = f"check-{uuid.uuid4()}"

    async def run(self, models: Sequence[ModelConfig]) -> dict[str, ProbeResult]:
        groups_by_call: dict[Hashable, list[ModelConfig]] = {}
        for model in models:
            groups_by_call.setdefault(_group_key(model), []).append(model)
        answers: dict[str, ProbeResult] = {}
        groups = list(groups_by_call.values())
        with tempfile.TemporaryDirectory(prefix="ostler-models-") as folder:
            for first in range(0, len(groups), PARALLEL_CALLS):
                batch = groups[first : first + PARALLEL_CALLS]
                async with asyncio.TaskGroup() as tasks:
                    checks = [tasks.create_task(self._check(group[0], folder)) for group in batch]
                for group, task in zip(batch, checks, strict=True):
                    if (answer := task.result()) is not None:
                        answers |= {choice.name: answer for choice in group}
        return answers

    async def _check(self, model: ModelConfig, folder: str) -> ProbeResult | None:
        """Return the answer of a model; None: it is at its limit and was not called."""
        settings = self._project.settings
        try:
            check_permissions(settings, model)
            executor = ExecutorRegistry().make_for(model, settings.executors, DefaultCommandRunner())
            executor.validate_availability()
        except OstlerError as error:
            return ProbeResult(False, 0.0, error.code, error.message)
        admission = self._availability.admit(model, self._caller)
        # A login or a network that a person has just corrected is tried before its next probe.
        if isinstance(admission, Unavailable) and admission.is_limit:
            return None
        call = _create_call(self._project, model, executor, self._environ, folder, self._seconds)
        result = await executor.spawn(call, lambda _: None)
        self._record(model, executor, result, is_probe=isinstance(admission, Probe))
        return _to_answer(result, self._seconds)

    def _record(self, model: ModelConfig, executor: Executor, result: CallResult, *, is_probe: bool) -> None:
        """Record the windows and limits of the account for all calls, as after an attempt.

        Other failures do not count: the time of a check is short.
        """
        availability = self._availability
        availability.note_windows(model, result.windows)
        if result.ok:
            availability.record_success(model)
        code = result.code
        if code and (is_provider_limit(code) or (is_probe and availability.is_outage(code))):
            availability.record_failure(model, result, executor, SystemClock.now())


def _group_key(model: ModelConfig) -> Hashable:
    """Arguments and environment differ between accounts."""
    return model.executor, model.model, model.account, model.args, tuple(sorted(model.env.items()))


def _create_call(
    project: Project,
    model: ModelConfig,
    executor: Executor,
    environ: Mapping[str, str],
    folder: str,
    seconds: float,
) -> AgentCall:
    session = str(uuid.uuid4())
    marks = identity_variables(f"{project.journal.store_id}:{session}:1", str(project.layout.root))
    return replace(
        create_base_call(project.settings, executor.capabilities, environ, marks),
        agent="implementer",
        prompt=PROMPT,
        session_id=session,
        model=model.model,
        cwd=folder,
        timeout_seconds=seconds,
        idle_timeout_seconds=seconds,
    )


def _to_answer(result: CallResult, seconds: float) -> ProbeResult:
    is_late = result.code in (Code.TIMEOUT, Code.IDLE_TIMEOUT)  # the settings of tasks do not apply
    message = f"no answer within {seconds:g} s" if is_late else result.message
    return ProbeResult(result.ok, round(result.duration_seconds, 3), result.code, message)
