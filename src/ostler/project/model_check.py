"""Asks models for a word, to see which of them answer (C27)."""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from collections.abc import Hashable, Mapping, Sequence

from msgspec.structs import replace

from ostler.errors import OstlerError
from ostler.executors.protocol import Executor
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall, CallResult
from ostler.model.choice import Choice
from ostler.process.runner import DefaultCommandRunner
from ostler.project.agents import require_sandbox
from ostler.project.project import Project
from ostler.views.models import Answer
from ostler.worker.agent_call import base_call, marks_of

PROMPT = 'Say "OK" and nothing else.'
SECONDS = 30.0
AT_ONCE = 3


async def ask_models(
    project: Project, choices: Sequence[Choice], environ: Mapping[str, str], seconds: float = SECONDS
) -> dict[str, Answer]:
    """Every choice's answer by its name; the same program with the same model is asked once."""
    alike: dict[Hashable, list[Choice]] = {}
    for choice in choices:
        alike.setdefault(_what_is_asked(choice), []).append(choice)
    answers: dict[str, Answer] = {}
    groups = list(alike.values())
    with tempfile.TemporaryDirectory(prefix="ostler-models-") as place:
        for first in range(0, len(groups), AT_ONCE):
            batch = groups[first : first + AT_ONCE]
            async with asyncio.TaskGroup() as tasks:
                asked = [
                    tasks.create_task(_ask(project, group[0], environ, place, seconds)) for group in batch
                ]
            for group, task in zip(batch, asked, strict=True):
                answers |= {choice.name: task.result() for choice in group}
    return answers


def _what_is_asked(choice: Choice) -> Hashable:
    """Another account is another question: it is told apart by its arguments or its environment."""
    return choice.executor, choice.model, choice.args, tuple(sorted(choice.env.items()))


async def _ask(
    project: Project, choice: Choice, environ: Mapping[str, str], place: str, seconds: float
) -> Answer:
    try:
        require_sandbox(project.settings, choice.executor)
        executor = ExecutorRegistry().make_for(choice, project.settings.executors, DefaultCommandRunner())
        executor.validate_availability()
    except OstlerError as error:
        return Answer(False, 0.0, error.code, error.message)
    call = _call(project, choice, executor, environ, place, seconds)
    return _answer(await executor.spawn(call, lambda _: None))


def _call(
    project: Project,
    choice: Choice,
    executor: Executor,
    environ: Mapping[str, str],
    place: str,
    seconds: float,
) -> AgentCall:
    session = str(uuid.uuid4())
    marks = marks_of(f"{project.journal.store_id}:{session}:1", str(project.layout.root))
    return replace(
        base_call(project.settings, executor.capabilities, environ, marks),
        agent="implementer",
        prompt=PROMPT,
        session_id=session,
        model=choice.model,
        cwd=place,
        timeout_seconds=seconds,
        idle_timeout_seconds=seconds,
    )


def _answer(result: CallResult) -> Answer:
    return Answer(result.ok, round(result.duration_seconds, 3), result.code, result.message)
