"""Two hosts with a clone each, which share one journal and move tasks through a bare remote."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from git_world import git
from ostler.blobs.blobs import Blobs
from ostler.blobs.mirror import Mirror
from ostler.clock import SystemClock
from ostler.config.cluster import EngineSettings
from ostler.config.settings import GitSettings
from ostler.engine.mirrored_writer import MirroredWriter
from ostler.engine.steps.mover import TaskMover
from ostler.engine.steps.services import StepServices, lock_path
from ostler.engine.task_runner import TaskRunner
from ostler.executors.protocol import Executor
from ostler.files.lock import try_lock
from ostler.model.call import AgentCall, CallResult, OnEvent, SessionStarted
from ostler.model.ids import TaskId
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.model.state import State
from ostler.model.task import Task
from ostler.project.agents.call_services import create_call_services
from ostler.project.project import Project
from ostler.store.accounts.sqlite import SqliteAccounts
from ostler.store.run_writer import RunWriter
from ostler.testing.mocks import MockExecutor
from publish_world import PublishWorld

DONE = "Done. <phase_complete>true</phase_complete>"
SETTINGS = '[phases.plans]\ntrivial = ["implement", "test"]\n[git]\non_complete = "none"\n'
Work = Callable[[AgentCall, "Host"], str]


class Host:
    """One machine: its clone, and the agent that runs there."""

    def __init__(self, cluster: Cluster, name: str, project: Project) -> None:
        self.cluster, self.name, self.project = cluster, name, project
        self.runs = 0
        self.executor: Executor = MockExecutor()
        self.environ: dict[str, str] = {}
        self.model = ""
        self.has_git = True
        self.runner: TaskRunner | None = None
        self.prompts: list[str] = []
        self.resumed: list[bool] = []
        self.home = cluster.root / name / "home"
        self.home.mkdir(parents=True)

    @property
    def root(self) -> Path:
        return self.project.layout.root

    def works(self, *steps: Work) -> None:
        """Let the agent do one of these in each call; its answer is what they return."""
        left = list(steps)

        async def work(call: AgentCall, on_event: OnEvent) -> CallResult:
            self.prompts.append(call.prompt)
            self.resumed.append(mock.calls[-1][0] == "resume")
            on_event(SessionStarted(call.session_id))
            answer = left.pop(0)(call, self)
            if answer == "STOP":
                await asyncio.sleep(60)
            return CallResult(None, text=answer, session_id=call.session_id)

        mock = MockExecutor("claude", spawn_function=work, resume_function=work)
        self.executor = mock

    def open_writer(self) -> RunWriter:
        """Return the writer of a run; with blobs, one that uploads the files of the task."""
        writer, blobs = self.cluster.project.store.open_writer(), self.cluster.blobs
        if blobs is None:
            return writer
        return MirroredWriter(writer, Mirror(blobs, writer.store_id, self.project.layout, wait_seconds=0.2))

    def services(self, writer: RunWriter) -> StepServices:
        shared = self.cluster.project
        return StepServices(
            settings=replace(self.project.settings, engine=self.cluster.engine, git=self.cluster.git),
            layout=self.project.layout,
            repository=self.project.repository() if self.has_git else None,
            journal=shared.journal,
            writer=writer,
            store=shared.store,
            clock=SystemClock(),
            environ={**os.environ, "HOME": str(self.home), **self.environ},
            make_executor=lambda choice, lock: self.executor,
            pool_for=lambda task: ModelPool((ModelConfig("claude", "claude", self.model),)),
            get_call_services=lambda: create_call_services(
                shared, shared.store.open_ledger(), SqliteAccounts(None), SystemClock(), None
            ),
            on_completed=lambda task, state: (),
            run=f"{self.name}-{self.runs}",
            host=self.name,
            mover=self.cluster.mover,
        )

    def run(self, task: TaskId) -> State:
        """Run the task here until it waits, ends, or the host is stopped or dies."""
        self.runs += 1

        async def scene() -> State:
            writer = self.open_writer()
            services = self.services(writer)
            held = try_lock(lock_path(self.cluster.state(task), services))
            assert held is not None
            self.runner = TaskRunner(task, held, services)
            self.running = asyncio.ensure_future(self.runner.run())
            try:
                await asyncio.wait({self.running})
                return self.cluster.state(task) if self.running.cancelled() else self.running.result()
            finally:
                await writer.close()

        return asyncio.run(scene())

    def stop(self) -> None:
        """Stop the host, as SIGTERM does: the work is saved and the task is released."""
        assert self.runner is not None
        self.runner.stop()

    def die(self) -> None:
        """End the run without saving or recording anything more."""
        self.running.cancel()


class Cluster:
    """The hosts `a` and `b`."""

    def __init__(self, root: Path, settings: str = SETTINGS) -> None:
        self.root = root
        self.world = PublishWorld(root)
        self.bare = self.world.bare
        self.mover: TaskMover | None = TaskMover("origin")
        self.engine = EngineSettings(kind="temporal")
        self.blobs: Blobs | None = None  # for the files of tasks
        self.world.commit({"ostler.toml": settings}, "settings")
        git(self.world.project, "push", "-q", "origin", "main")
        other = root / "b" / "clone"
        git(root, "clone", "-q", str(self.bare), str(other))
        self.git = GitSettings(on_complete="none")
        self.project = Project.open(self.world.project, dict(os.environ), create=True)
        self.a = Host(self, "a", self.project)
        self.b = Host(self, "b", Project.open(other, dict(os.environ), create=True))

    def add(self, title: str = "Greet", after: tuple[TaskId, ...] = ()) -> TaskId:
        return self.project.add(Task(title, weight="trivial", after=after)).id

    def state(self, task: TaskId) -> State:
        return self.project.state(task)

    def pushed(self, task: TaskId) -> str:
        """Return the commit of the task's hidden ref at the remote."""
        return git(self.bare, "rev-parse", "-q", "--verify", f"refs/ostler/tasks/{task}", check=False)


def write(name: str, answer: str = DONE):
    """An agent that writes a file."""

    def work(call: AgentCall, host: Host) -> str:
        (Path(call.cwd) / name).write_text(host.name)
        return answer

    return work


def stop(call: AgentCall, host: Host) -> str:
    """The host is stopped while its agent works."""
    (Path(call.cwd) / "unfinished.txt").write_text(host.name)
    host.stop()
    return "STOP"
