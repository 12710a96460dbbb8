"""What a run would do with a task, found out without starting anything (`run --dry-run`)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from ostler.clock import SystemClock
from ostler.executors.registry import ExecutorRegistry
from ostler.model.choice import Choice, ModelPool
from ostler.model.command import Command, Exit, Sink
from ostler.model.task import Task
from ostler.process.protocol import Conversation
from ostler.project.pool import pool_for
from ostler.project.project import Project
from ostler.prompt.builder import Past, Place, build_prompt
from ostler.prompt.role import find_agent, load_prompt
from ostler.worker.agent_call import base_call, marks_of
from ostler.worker.selector import ModelSelector
from ostler.worker.slots import WorkerPool


class Rehearsal(Struct, frozen=True):
    """The first attempt at a task, as it would be made."""

    id: str
    executor: str
    model: str
    models: tuple[str, ...]  # every model that may be used
    most_calls: int  # of one call of the agent: models x (1 + retry.max_retries)
    pool: str  # where it gets a place
    directory: str
    branch: str | None
    argv: tuple[str, ...]  # empty: this executor starts no program
    environment: tuple[str, ...]  # names only
    prompt: str


class _Recorder:
    """A runner that starts nothing."""

    def __init__(self) -> None:
        self.command: Command | None = None

    async def run(self, command: Command, sink: Sink) -> Exit:
        del sink
        self.command = command
        return Exit(0, 0.0)

    async def converse(self, command: Command, conversation: Conversation) -> Exit:
        return await self.run(command, conversation.take)


def rehearse(project: Project, task: Task, environ: Mapping[str, str]) -> Rehearsal:
    """Ask the executor for its command line, with a runner that only writes it down."""
    place, settings = _place(project, task), project.settings
    pool = pool_for(task, project.loaded)
    choice = _first(pool, project)
    recorder = _Recorder()
    executor = ExecutorRegistry().make_for(choice, settings.executors, recorder)
    executor.validate_availability()
    role = load_prompt(find_agent(task.role, project.layout.root), project.layout.root)
    marks = marks_of("", str(project.layout.root), task.id)
    call = replace(
        base_call(settings, executor.capabilities, environ, marks),
        agent=task.role,
        prompt=f"{role}\n\n{build_prompt(task, place, Past())}",
        session_id="00000000-0000-0000-0000-000000000000",
        model=choice.model,
        cwd=place.directory,
    )
    if executor.capabilities.starts_program:
        asyncio.run(executor.spawn(call, lambda _: None))
    command = recorder.command
    return Rehearsal(
        id=task.id,
        executor=choice.executor,
        model=call.model,
        models=tuple(one.name for one in pool.choices),
        most_calls=len(pool.choices) * (1 + settings.retry.max_retries),
        pool=WorkerPool(settings.pools, SystemClock()).pool_name(task.feature, task.priority),
        directory=place.directory,
        branch=place.branch,
        argv=command.argv if command else (),
        environment=tuple(sorted(command.env if command else call.env)),
        prompt=call.prompt,
    )


def _first(pool: ModelPool, project: Project) -> Choice:
    """The model that a run would begin with."""
    settings = project.settings.selection
    walk = ModelSelector(settings.strategy, Random(0)).walk(pool, settings.force_fallback)  # noqa: S311
    return walk.next() or pool.choices[0]


def _place(project: Project, task: Task) -> Place:
    if project.repository() is None:
        return Place(str(project.layout.root))
    branch = f"{project.settings.git.branch_prefix}{task.id}"
    return Place(str(project.layout.worktree(task.id)), branch)
