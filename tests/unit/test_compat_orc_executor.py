"""Seed 002 (orc): its executor_test.go, on the real engine with an agent that runs scripts."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ostler import Task
from ostler.compat.orc import (
    Event,
    EventPublisher,
    Executor,
    ExecutorConfig,
    PhaseExecutor,
    PhaseResult,
    TrivialExecutor,
)
from ostler.errors import Code, OstlerError, UsageError
from ostler.model.ids import TaskId
from ostler.model.status import TaskStatus
from world import World, wait_until

SCRIPTED = '[run]\nexecutor = "scripted"\n[sandbox]\ntier = "supervised"\n'
SAY = """
```ostler-script
- edit: {path: a.txt, content: "%s"}
- say: "%s"
```
"""
DONE = SAY % ("hello", "Done. <phase_complete>true</phase_complete>")
BLOCKED = SAY % ("hello", "<phase_blocked>reason: missing dependencies</phase_blocked>")
ENDLESS = "```ostler-script\n- say: More to do.\n```\n"
TASK = Task("Fix the login", "It loops.", TaskId("task-001"), weight="medium")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose agent runs scripts."""
    world = World(tmp_path)
    world.make_repository(**{"ostler.toml": SCRIPTED})
    return world.root


def engine(root: Path, publish: Callable[[Event], object] | None = None, **config: object) -> Executor:
    made = ExecutorConfig(**config)  # pyright: ignore[reportArgumentType]
    return Executor(root, made, EventPublisher(publish))


def git(root: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def test_execute_task_runs_every_phase(root: Path) -> None:
    """Worktree, plan, phases, gates, commits, cleanup; the publisher receives the events in order."""
    events: list[Event] = []
    outcome = asyncio.run(engine(root, events.append).execute_task(Task("Fix it", DONE, TaskId("TASK-001"))))
    assert (outcome.status, outcome.task_id, outcome.branch) == ("completed", "task-001", "orc/task-001")
    assert git(root, "log", "--format=%s", "-1", "orc/task-001") == "[orc] task-001: test - completed"
    assert not (root / ".ostler/worktrees/task-001").exists()
    phases = [(one.data["phase"], one.data["status"]) for one in events if one.type == "phase"]
    assert phases == [
        ("implement", "running"),
        ("implement", "completed"),
        ("test", "running"),
        ("test", "completed"),
    ]
    spoken = [one.data["type"] for one in events if one.type == "transcript"]
    assert spoken == ["prompt", "tool", "response"] * 2
    assert [one.type for one in events[-2:]] == ["complete", "state"]
    assert sum(one.data["total"] for one in events if one.type == "tokens") > 0


def test_the_events_of_returned_and_waiting_work(root: Path) -> None:
    """A return has its reason, and a human gate is a state; no event names a phase that was not called."""
    gates = '[gates]\ncontrol = false\n[gates.commands]\nimplement = "test $(cat a.txt) = ok"\n'
    (root / "ostler.toml").write_text(SCRIPTED + gates)
    events: list[Event] = []
    task = Task("Fix it", DONE, TaskId("fix-it-1"))
    asyncio.run(engine(root, events.append, max_retries=1).execute_phase(task, "implement"))
    failed = [one.data["error"] for one in events if one.data.get("status") == "failed"]
    reason = "`test $(cat a.txt) = ok` exited with 1"
    assert failed == [f"{reason}; retried from implement", f"GATE_REJECTED: {reason}"]
    events.clear()
    (root / "ostler.toml").write_text(SCRIPTED + '[gates.phases]\nimplement = "human"\n')
    task = Task("Fix it", DONE, TaskId("fix-it-2"))
    asyncio.run(engine(root, events.append).execute_phase(task, "implement"))
    assert events[-1].data == {"state": "needs_review"}
    events.clear()
    (root / "ostler.toml").write_text(SCRIPTED)
    asyncio.run(engine(root, events.append).execute_phase(Task("x", DONE, TaskId("fix-it-3")), "implement"))
    assert "test" not in {one.data["phase"] for one in events if one.type == "phase"}


def test_a_slow_receiver_does_not_delay_the_run(root: Path) -> None:
    """The task is completed while the receiver handles its first event; it gets the others afterwards."""
    state = root / ".ostler/tasks/task-001/state.yaml"
    events: list[str] = []

    def is_completed() -> bool:
        return state.exists() and 'status: "completed"' in state.read_text()

    def receive(event: Event) -> None:
        if not events:
            wait_until(is_completed, 20, "the run waits for the receiver")
        events.append(event.type)

    outcome = asyncio.run(engine(root, receive).execute_task(Task("Fix it", DONE, TaskId("task-001"))))
    assert outcome.status == "completed" and events[-1] == "state"


def test_execute_phase_stops_before_the_next_one(root: Path) -> None:
    """One phase with its commit and its gate; then the rest, then again from a phase."""
    task, executor = Task("Fix it", DONE, TaskId("fix-it-1")), engine(root)

    async def scene() -> None:
        with pytest.raises(UsageError, match="the next phase of fix-it-1 is implement, not test"):
            await executor.execute_phase(task, "test")
        with pytest.raises(UsageError, match="not been checked"):
            executor.evaluate_gate("fix-it-1", "test")
        result = await executor.execute_phase(task, "implement")
        assert (result.phase, result.status, result.iterations, result.error) == (
            "implement",
            "completed",
            1,
            "",
        )
        assert result.output.startswith("Done.") and result.input_tokens > 0 and result.duration_seconds > 0
        gate = executor.evaluate_gate("fix-it-1", "implement")
        assert (gate.approved, gate.type, gate.commit_sha) == (True, "auto", result.commit_sha)
        with pytest.raises(UsageError, match="implement of fix-it-1 is completed"):
            await executor.execute_phase(task, "implement")
        assert (await executor.execute_task(task)).status is TaskStatus.COMPLETED
        again = await executor.resume_from_phase("fix-it-1", "test", "Once more.")
        assert again.status is TaskStatus.COMPLETED
        with pytest.raises(UsageError, match="has no phase 'deploy'"):
            await executor.resume_from_phase("fix-it-1", "deploy")

    asyncio.run(scene())


def test_load_plan(root: Path) -> None:
    """The plan of a stored task by its id of orc, and the plan that a new task would get."""
    executor = engine(root)
    planned = executor.load_plan(Task("Fix it", DONE, TaskId("TASK-001"), weight="large"))
    assert [one.id for one in planned.phases] == ["spec", "implement", "test", "validate"]
    with pytest.raises(UsageError, match="no task TASK-001"):
        executor.load_plan("TASK-001")
    asyncio.run(executor.execute_task(Task("Fix it", DONE, TaskId("TASK-001"), weight="trivial")))
    assert [one.id for one in executor.load_plan("TASK-001").phases] == ["implement"]


def test_a_blocked_phase_has_its_reason(root: Path) -> None:
    """Without the label `reason:`; the phase has failed."""
    errors: list[Event] = []
    executor = engine(root, lambda event: errors.append(event) if event.type == "error" else None)
    result = asyncio.run(TrivialExecutor(executor).execute(Task("Fix it", BLOCKED)))
    assert (result.status, result.error) == ("failed", "missing dependencies")
    assert [one.data["message"] for one in errors] == ["AGENT_BLOCKED: missing dependencies"]


def test_iterations_of_the_config(root: Path) -> None:
    """max_iterations ends a phase that is never complete."""
    task = Task("Fix it", ENDLESS, phases=("implement",))
    outcome = asyncio.run(engine(root, max_iterations=1).execute_task(task))
    assert (outcome.status, outcome.code) == (TaskStatus.PAUSED, Code.ITERATION_LIMIT)


def test_a_gate_that_rejects(root: Path) -> None:
    """evaluate_gate returns the verdict of the command on the commit."""
    (root / "ostler.toml").write_text(
        f'{SCRIPTED}[gates]\ncontrol = false\n[gates.commands]\nimplement = "test -e b.txt"\n'
    )
    executor = engine(root, max_retries=0)
    result = asyncio.run(executor.execute_phase(Task("Fix it", DONE, TaskId("fix-it-1")), "implement"))
    gate = executor.evaluate_gate("fix-it-1", "implement")
    assert (gate.approved, gate.verdict, gate.type) == (False, "fail", "command")
    assert result.status != "completed" and result.error


def test_executor_with_bad_input(tmp_path: Path) -> None:
    """A missing directory and invalid ids are one clear error."""
    with pytest.raises(UsageError, match="no directory"):
        asyncio.run(Executor(tmp_path / "none").execute_task(TASK))
    with pytest.raises(OstlerError, match="invalid task id"):
        asyncio.run(Executor(tmp_path).execute_task(Task("x", id=TaskId("../evil"))))


def test_a_phase_executor_of_ones_own() -> None:
    """PhaseExecutor is an interface: a name and execute()."""

    class Mine:
        name = "mine"

        async def execute(self, task: Task, phase: str = "implement") -> PhaseResult:
            return PhaseResult(phase, "completed", 1, 0.0, output=task.title)

    mine: PhaseExecutor = Mine()
    assert asyncio.run(mine.execute(TASK)).output == "Fix the login"
