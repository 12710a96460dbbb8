"""Runs a program of a person in the sandbox of a task: the files and the home directory of its agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.attempts.attempt import create_base_call
from ostler.calls.sandbox.agent import AgentSandbox, open_agent_sandbox
from ostler.calls.sandbox.beside import keep_open_beside
from ostler.calls.sandbox.open import SandboxRequest, open_sandbox
from ostler.calls.sandbox.workspace import Workspace
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AccessRefused, AgentEvent
from ostler.model.command import Command, Launcher
from ostler.model.ids import TaskId
from ostler.model.policy.sandbox import Refusal, SandboxRecord, describe_refusal, is_confined
from ostler.process.environment import build_child_environment
from ostler.process.foreground import run_command_in_foreground
from ostler.process.runner import DefaultCommandRunner
from ostler.process.tool import run_in_foreground
from ostler.project.ostler import Ostler
from ostler.project.project import Project


class ProgramRequest(Struct, frozen=True):
    """A program that a person starts in a task."""

    task: TaskId
    argv: tuple[str, ...]
    cwd: Path
    environ: Mapping[str, str]  # of the person
    added: Mapping[str, str]  # variables that name the task
    executor: str = ""  # the agent whose program it is; empty: any other program


class ProgramEnd(Struct, frozen=True):
    status: int
    refused: tuple[str, ...] = ()  # what the sandbox refused, in words


class _Opened(Struct, frozen=True):
    command: Command | None  # None: there is no sandbox
    record: SandboxRecord


class TaskSandbox:
    """The sandbox of a task, open while a program of a person runs."""

    def __init__(self, project: Project, request: ProgramRequest) -> None:
        self._project = project
        self._request = request
        self._refused: dict[str, None] = {}

    def run(self, workspace: Workspace, on_open: Callable[[SandboxRecord], None]) -> ProgramEnd:
        """Run the program on our terminal; `on_open` is called before it starts."""
        with keep_open_beside(lambda: self._open(workspace)) as opened:
            on_open(opened.record)
            status = self._run(opened)
        return ProgramEnd(status, tuple(self._refused))

    def _run(self, opened: _Opened) -> int:
        if opened.command is not None:
            return run_command_in_foreground(opened.command)
        request = self._request
        return run_in_foreground([*request.argv], str(request.cwd), {**request.environ, **request.added})

    @contextmanager
    def _launch(
        self,
        launcher: Launcher | None,
        env: dict[str, str],
        record: SandboxRecord,
        directory: Path,
        added: tuple[str, ...] = (),
    ) -> Generator[_Opened]:
        """Change the command in the loop of the proxy, which receives the ports of the program."""
        if launcher is None or not is_confined(record.tier):
            yield _Opened(None, record)
            return
        argv = (*self._request.argv, *added)
        with launcher.launch(Command(argv, str(directory), env, pty=True)) as command:
            yield _Opened(command, record)

    @asynccontextmanager
    async def _open(self, workspace: Workspace) -> AsyncGenerator[_Opened]:
        if self._request.executor:
            async with self._open_for_agent(workspace) as opened:
                yield opened
            return
        sandbox, request = self._project.settings.sandbox, self._request
        wanted = SandboxRequest(
            workspace,
            sandbox,
            build_child_environment(request.environ, sandbox.env_allow, request.added),
            host_environ=request.environ,
            on_refusal=self._note,
        )
        async with open_sandbox(wanted) as found:
            with self._launch(found.launcher, found.env, found.record, workspace.directory) as opened:
                yield opened

    @asynccontextmanager
    async def _open_for_agent(self, workspace: Workspace) -> AsyncGenerator[_Opened]:
        """Open it as for an attempt of the agent: its login and the address of its model are the same."""
        settings, request = self._project.settings, self._request
        executor = ExecutorRegistry().make(request.executor, settings.executors, DefaultCommandRunner())
        base = create_base_call(settings, executor.capabilities, request.environ, request.added)
        call = replace(base, cwd=str(workspace.directory))
        agent = AgentSandbox(call, executor, settings, self._receive, workspace, host_environ=request.environ)
        async with open_agent_sandbox(agent) as found:
            is_program = isinstance(executor, ProgramExecutor)
            env = executor.describe_outside(found.call).env if is_program else found.call.env
            env, added = found.call.access.apply(env), found.call.access.arguments
            with self._launch(found.call.launcher, env, found.record, workspace.directory, added) as opened:
                yield opened

    def _receive(self, event: AgentEvent) -> None:
        if isinstance(event, AccessRefused):
            self._note(Refusal(event.kind, event.target, event.setting))

    def _note(self, refusal: Refusal) -> None:
        self._refused[describe_refusal(refusal.kind, refusal.target, refusal.setting)] = None


def find_workspace(project: Project, task: TaskId, environ: Mapping[str, str]) -> Workspace:
    """Return the files that the agents of a task have in their sandbox."""

    async def find() -> Workspace:
        ostler = Ostler(project, environ)
        try:
            return ostler.create_workspace(task, None)
        finally:
            await ostler.close()

    return asyncio.run(find())
