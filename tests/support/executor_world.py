"""A project with skills and the AgentExecutor of the seeds: real files, a real journal, a fake client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ostler.engine.core.evolve import evolve
from ostler.errors import Code
from ostler.llm.client import ClaudeClient, ClaudeRequest, ClaudeResponse
from ostler.llm.failure import ModelError
from ostler.model.attempt import Attempt
from ostler.model.event import DecisionRecorded, Event, Record
from ostler.model.ids import TaskId
from ostler.model.rows import build_row, decode_state
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.agents.agent_executor import AgentExecutor
from ostler.project.agents.executor_config import create_default_config
from ostler.project.project import Project
from ostler.project.running.execution import ExecutionErrorCode, ExecutionResult
from ostler.testing.mocks import MockClaudeClient

RESEARCH = Task("Who buys hay", "In ten lines.", skill="research", sender="director", priority="P1")
LONG = 60.0  # seconds that no call here takes


def failed_with(result: ExecutionResult, code: ExecutionErrorCode) -> bool:
    assert result.error is not None and result.error.task_id == result.task_id
    return (result.status, result.output_path, result.error.code) == ("failed", None, code)


def deferred_with(result: ExecutionResult, code: ExecutionErrorCode) -> bool:
    assert result.error is not None and result.resumes_at is not None
    return (result.status, result.output_path, result.error.code) == ("deferred", None, code)


def fails(code: Code, times: int = 10**6) -> Callable[[ClaudeRequest], ClaudeResponse]:
    """Return a model that fails this many times and then answers."""
    left = iter(range(times))

    def answer(request: ClaudeRequest) -> ClaudeResponse:
        if next(left, None) is not None:
            raise ModelError(code, f"said {code}")
        return ClaudeResponse("At last.", 7, 5, "end_turn")

    return answer


class Setting:
    """A client that sets the event when it is called, and never answers."""

    def __init__(self, signal: asyncio.Event) -> None:
        self._signal = signal

    async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
        self._signal.set()
        await asyncio.sleep(LONG)
        raise AssertionError("the call was not stopped")


class ExecutorWorld:
    """One project; retries have no delay unless a test sets one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.client = MockClaudeClient()
        self.skill("research", "squad: strategy", "You find out who buys.")

    def skill(
        self, name: str, matter: str = "squad: creative", body: str = "", references: Mapping[str, str] = {}
    ) -> Path:
        folder = self.root / ".agents" / "skills" / name
        (folder / "references").mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {name}\n{matter}\n---\n{body}\n")
        for file, text in references.items():
            (folder / "references" / file).write_text(text)
        return folder

    def file(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def executor(self, client: ClaudeClient | None = None, **config: Any) -> AgentExecutor:
        made = create_default_config(**{"retry_delay_ms": 1, **config})
        return AgentExecutor(client or self.client, self.root, made, environ={})

    def execute(
        self,
        task: Task = RESEARCH,
        client: ClaudeClient | None = None,
        config: Mapping[str, Any] = {},
        **more: Any,
    ) -> ExecutionResult:
        return asyncio.run(self.executor(client, **config).execute(task, **more))

    def add(self, task: Task = RESEARCH) -> Task:
        with Project.open(self.root, {}, create=True) as project:
            return project.add(task)

    def task(self, task: str) -> Task:
        with Project.open(self.root, {}) as project:
            return project.task(TaskId(task))

    def state(self, task: str) -> State:
        with Project.open(self.root, {}) as project:
            return project.state(TaskId(task))

    def records(self, task: str) -> list[Record]:
        with Project.open(self.root, {}) as project:
            return project.journal.read(TaskId(task))

    def attempts(self, task: str) -> list[Attempt]:
        with Project.open(self.root, {}) as project:
            return project.journal.attempts(TaskId(task))

    def record(self, task: str, *events: Event) -> None:
        """Record an event of another run."""
        for event in events:
            self._append(task, event, None)

    def put(self, task: str, status: TaskStatus) -> None:
        """Set a status that no action leads to."""
        self._append(task, DecisionRecorded("resume"), status)

    def _append(self, task: str, event: Event, status: TaskStatus | None) -> None:
        with Project.open(self.root, {}) as project:
            row = project.journal.row(TaskId(task))
            assert row is not None
            record = Record(row.id, row.seq + 1, row.updated_at, event)
            after = evolve(decode_state(row), record)
            after = replace(after, status=status) if status else after
            assert project.journal.append(record, build_row(after))

    @property
    def last_prompt(self) -> str:
        """Return the user message of the last call."""
        return self.client.calls[-1].user_message
