"""A task at its gate, with a real repository, a real commit and the real performers."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from git_world import World, git
from ostler.clock import SystemClock
from ostler.config.settings import GateSettings, RunSettings, SandboxSettings, Settings, WorkspaceSettings
from ostler.engine.core.step import CheckGate, PrepareWorkspace
from ostler.engine.steps.gates.choice import read_protection
from ostler.engine.steps.perform import perform
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.files.lock import try_lock
from ostler.git.discovery import discover_repository
from ostler.git.repository import Worktree, locate_worktree
from ostler.model.event import GateDecided, TaskStarted
from ostler.model.plan import Gate
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.model.policy.sandbox import Tier
from ostler.model.state import Stage, State
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.agents.call_services import create_call_services
from ostler.project.project import Project
from ostler.store.accounts.sqlite import SqliteAccounts
from ostler.store.writer import GroupWriter
from ostler.testing.mocks import MockExecutor

SECRET = "canary-7f3a"
FILES = {"a.txt": "one\n", ".gitignore": ".ostler/\nnode_modules/\n"}

Act = Callable[[StepServices, TaskContext], Awaitable[StepResult | None]]


class GateWorld:
    """A task with two phases; the second one is committed and its gate is next."""

    def __init__(
        self,
        directory: Path,
        files: dict[str, str] | None = None,
        prefix: str = "",
        budget_usd: float | None = None,
    ) -> None:
        self.world = World(directory, files={**FILES, **(files or {})})
        self.temporary = directory / "temporary"
        self.temporary.mkdir()
        self.project = Project.open(self.world.project / prefix, {}, create=True)
        self.task = self.project.add(Task("Greet", "Say hello.", budget_usd=budget_usd))
        self._settle()

    @classmethod
    def reopen(cls, directory: Path) -> GateWorld:
        """The same world as another process opens it."""
        found = cls.__new__(cls)
        found.world = World.__new__(World)
        found.world.root, found.world.project = directory, directory / "project"
        found.temporary = directory / "temporary"
        found.project = Project.open(found.world.project, {})
        found.task = found.project.task(found.project.journal.rows()[0].id)
        found._settle()
        return found

    def _settle(self) -> None:
        self.root = self.project.layout.root
        self.commit = git(self.world.project, "rev-parse", "HEAD")
        ours = {"TMPDIR": str(self.temporary), "SECRET_TOKEN": SECRET, "ALLOWED_X": "yes"}
        self.environ = {**os.environ, **ours}
        self.executor = MockExecutor()
        self.git = True
        self.state = replace(
            self.project.state(self.task.id),
            status=TaskStatus.IN_PROGRESS,
            stage=Stage.CHECKING,
            phase=1,
            commit=self.commit,
            base=self.commit,
        )

    @property
    def home(self) -> Path:
        return self.project.layout.task(self.task.id)

    @staticmethod
    def settings(
        workspace: WorkspaceSettings | None = None, tier: Tier = "supervised", **gates: object
    ) -> Settings:
        return Settings(
            run=RunSettings(grace_seconds=1.0),
            gates=msgspec.convert({"control": False, **gates}, GateSettings),
            workspace=workspace or WorkspaceSettings(),
            sandbox=SandboxSettings(tier=tier, env_allow=("ALLOWED_*",)),
        )

    def say(self, text: str) -> None:
        """Set the last answer of the phase."""
        (self.home / "answer.md").write_text(text)
        self.state = replace(self.state, answer="answer.md")

    def step(self, gate: Gate, phase: str = "test") -> CheckGate:
        key = f"{self.task.id}/1.test.2.1.{self.state.checks}/gate"
        return CheckGate(self.task.id, key, phase, gate, self.commit if self.git else None)

    def check(self, gate: Gate, settings: Settings | None = None, phase: str = "test") -> StepResult:
        """Check the gate once."""
        answer = self.run(lambda tools, case: perform(self.step(gate, phase), case, tools), settings)
        assert isinstance(answer, StepResult)
        return answer

    def command(self, command: str, settings: Settings | None = None) -> GateDecided:
        event = self.check(Gate("command", command=command), settings).event
        assert isinstance(event, GateDecided)
        return event

    def output(self, event: GateDecided) -> str:
        return (self.home / event.output).read_text()

    def prepare(self, settings: Settings | None = None) -> StepResult:
        """Prepare the workspace as a run does."""
        step = PrepareWorkspace(self.task.id, f"{self.task.id}/1.1/prepare")
        answer = self.run(lambda tools, case: perform(step, case, tools), settings)
        assert isinstance(answer, StepResult)
        return answer

    def worktree(self, settings: Settings | None = None) -> Worktree:
        """The prepared worktree."""
        started = self.prepare(settings).event
        assert isinstance(started, TaskStarted), started
        assert started.worktree and started.branch and started.base
        self.state = replace(self.state, worktree=started.worktree, branch=started.branch, base=started.base)
        found = discover_repository(self.root)
        assert found
        return locate_worktree(
            found, self.project.layout.worktree_of_record(started.worktree), started.branch, started.base
        )

    def run(self, act: Act, settings: Settings | None = None) -> StepResult | None:
        async def scene() -> StepResult | None:
            writer = self.project.store.open_writer()
            tools = self.tools(writer, settings or self.settings())
            held = try_lock(tools.layout.lock(self.task.id))
            assert held is not None, "something of an earlier gate still holds the task's lock"
            with held:
                try:
                    return await act(tools, TaskContext(self.task, self._accept(tools.settings), held.fd))
                finally:
                    await writer.close()

        return asyncio.run(scene())

    def _accept(self, settings: Settings) -> State:
        """The state after a person accepted these settings."""
        accepted = read_protection(self.task, self.state.plan, settings)
        return replace(self.state, protection=accepted)

    def tools(self, writer: GroupWriter, settings: Settings) -> StepServices:
        ledger = self.project.store.open_ledger()
        stable = create_call_services(self.project, ledger, SqliteAccounts(None), SystemClock(), None)
        return StepServices(
            settings=settings,
            layout=self.project.layout,
            repository=discover_repository(self.root) if self.git else None,
            journal=self.project.journal,
            writer=writer,
            store=self.project.store,
            clock=SystemClock(),
            environ=self.environ,
            make_executor=lambda choice, lock: self.executor,
            pool_for=lambda task: ModelPool((ModelConfig(f"mock-{task.role}", "mock"),)),
            get_call_services=lambda: stable,
            on_completed=lambda task, state: (),
            run="ours",
        )

    def leftovers(self) -> list[str]:
        """All temporary files that a gate left."""
        return sorted(str(path.relative_to(self.temporary)) for path in self.temporary.rglob("*"))


if __name__ == "__main__":  # a separate run, for a test to kill
    GateWorld.reopen(Path(sys.argv[1])).command(sys.argv[2])
