"""Sends a short prompt to each model to see which of them answer (C27)."""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from collections.abc import Hashable, Mapping, Sequence

from msgspec.structs import replace

from ostler.calls.attempts.attempt import create_base_call, identity_variables
from ostler.errors import OstlerError
from ostler.executors.protocol import Executor
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall, CallResult
from ostler.model.model_config import ModelConfig
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents.executors import check_permissions
from ostler.project.project import Project
from ostler.views.models import ProbeResult

PROMPT = 'Say "OK" and nothing else.'
TIMEOUT_SECONDS = 30.0
PARALLEL_CALLS = 3


async def check_models(
    project: Project,
    models: Sequence[ModelConfig],
    environ: Mapping[str, str],
    seconds: float = TIMEOUT_SECONDS,
) -> dict[str, ProbeResult]:
    """Return the answer of each model by name; models with the same program, model and account share one
    call.
    """
    project.require_person("call models")
    groups_by_call: dict[Hashable, list[ModelConfig]] = {}
    for model in models:
        groups_by_call.setdefault(_group_key(model), []).append(model)
    answers: dict[str, ProbeResult] = {}
    groups = list(groups_by_call.values())
    with tempfile.TemporaryDirectory(prefix="ostler-models-") as folder:
        for first in range(0, len(groups), PARALLEL_CALLS):
            batch = groups[first : first + PARALLEL_CALLS]
            async with asyncio.TaskGroup() as tasks:
                checks = [
                    tasks.create_task(_check_model(project, group[0], environ, folder, seconds))
                    for group in batch
                ]
            for group, task in zip(batch, checks, strict=True):
                answers |= {choice.name: task.result() for choice in group}
    return answers


def _group_key(model: ModelConfig) -> Hashable:
    """Arguments and environment differ between accounts."""
    return model.executor, model.model, model.args, tuple(sorted(model.env.items()))


async def _check_model(
    project: Project, model: ModelConfig, environ: Mapping[str, str], folder: str, seconds: float
) -> ProbeResult:
    try:
        check_permissions(project.settings, model)
        executor = ExecutorRegistry().make_for(model, project.settings.executors, DefaultCommandRunner())
        executor.validate_availability()
    except OstlerError as error:
        return ProbeResult(False, 0.0, error.code, error.message)
    call = _create_call(project, model, executor, environ, folder, seconds)
    return _to_answer(await executor.spawn(call, lambda _: None))


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


def _to_answer(result: CallResult) -> ProbeResult:
    return ProbeResult(result.ok, round(result.duration_seconds, 3), result.code, result.message)
