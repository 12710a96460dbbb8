"""What a run would do with a task, found out without starting anything (`run --dry-run`)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from msgspec import Struct

from ostler.executors.environment import declared_environment
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall
from ostler.model.command import Command, Exit, Sink
from ostler.model.task import Task
from ostler.process.environment import child_environment
from ostler.process.protocol import Conversation
from ostler.project.agents import executor_for
from ostler.project.project import Project
from ostler.prompt.builder import Past, Place, build_prompt
from ostler.prompt.role import find_agent, load_prompt


class Rehearsal(Struct, frozen=True):
    """The first attempt at a task, as it would be made."""

    id: str
    executor: str
    model: str
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
    place = _place(project, task)
    name = executor_for(task, project.loaded)
    recorder = _Recorder()
    executor = ExecutorRegistry().make(name, project.settings.executors, recorder)
    executor.validate_availability()
    role = load_prompt(find_agent(task.role, project.layout.root), project.layout.root)
    declared = declared_environment(executor.capabilities, environ)
    call = AgentCall(
        agent=task.role,
        prompt=f"{role}\n\n{build_prompt(task, place, Past())}",
        session_id="00000000-0000-0000-0000-000000000000",
        model=task.model or project.settings.run.model,
        cwd=place.directory,
        env=child_environment(environ, project.settings.sandbox.env_allow, declared),
    )
    if executor.capabilities.starts_program:
        asyncio.run(executor.spawn(call, lambda _: None))
    command = recorder.command
    return Rehearsal(
        id=task.id,
        executor=name,
        model=call.model,
        directory=place.directory,
        branch=place.branch,
        argv=command.argv if command else (),
        environment=tuple(sorted(command.env if command else call.env)),
        prompt=call.prompt,
    )


def _place(project: Project, task: Task) -> Place:
    if project.repository() is None:
        return Place(str(project.layout.root))
    branch = f"{project.settings.git.branch_prefix}{task.id}"
    return Place(str(project.layout.worktree(task.id)), branch)
