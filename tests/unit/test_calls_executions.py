"""Executions of one CliExecutor side by side: listed, killed by id, and seen by a debugger."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ostler.calls.attempts.running import KillRequest, RunningAttempts
from ostler.calls.breakpoints import Breakpoint, BreakpointDebugger
from ostler.calls.cli_executor import CliExecutor
from ostler.calls.debugger import DebugEvent
from ostler.config.settings import ExecutorSettings, RunSettings, SandboxSettings, Settings
from ostler.errors import Code, UsageError
from ostler.model.attempt import Attempt
from ostler.model.call import CallResult
from ostler.model.ids import TaskId
from ostler.testing.mock_processes import MockProcessManager
from ostler.testing.mocks import MockDebugger

SETTINGS = Settings(
    run=RunSettings(executor="sh", grace_seconds=600),
    sandbox=SandboxSettings(tier="supervised"),
    executors={"sh": ExecutorSettings(type="command", command="sh", args=("-c", "cat; sleep 600"))},
)


def create(tmp_path: Path, processes: MockProcessManager, **more: Any) -> CliExecutor:
    return CliExecutor(SETTINGS, processes, home=tmp_path, environ={"PATH": "/usr/bin:/bin"}, **more)


def test_executions_run_side_by_side_and_one_is_killed_by_its_id(tmp_path: Path) -> None:
    """The killed one returns ABORTED without a retry; the other one completes."""

    async def scenario() -> None:
        manager = MockProcessManager()
        executor = create(tmp_path, manager)
        first = asyncio.create_task(executor.execute("one", execution_id="a"))
        second = asyncio.create_task(executor.execute("two"))
        await manager.started(2)
        assert [one.id for one in executor.executions()] == ["a", "call/1"]
        assert executor.kill("a") and not executor.kill("b")
        assert (await first).result.code is Code.ABORTED
        (process,) = manager.running
        process.finish(0, b"done")
        assert (await second).result.text == "done" and executor.executions() == []
        executor.close()

    asyncio.run(scenario())


def test_kill_now_does_not_wait_for_the_grace_period(tmp_path: Path) -> None:
    """A real process that ignores SIGTERM is gone when `execute` returns."""
    ignoring = ExecutorSettings(type="command", command="sh", args=("-c", "trap '' TERM; echo up; sleep 600"))

    async def scenario() -> None:
        executor = CliExecutor(
            Settings(run=SETTINGS.run, sandbox=SETTINGS.sandbox, executors={"sh": ignoring}),
            home=tmp_path,
            environ={"PATH": "/usr/bin:/bin"},
        )
        running = asyncio.create_task(executor.execute("one", execution_id="a", cwd=str(tmp_path)))
        transcripts = executor.calls_dir / "transcripts"
        while not any(path.stat().st_size for path in transcripts.glob("*.jsonl")):
            await asyncio.sleep(0.02)
        executor.kill("a", now=True)
        assert (await asyncio.wait_for(running, 30)).result.code is Code.ABORTED
        executor.close()

    asyncio.run(scenario())


def test_an_id_is_used_once_at_a_time(tmp_path: Path) -> None:
    """A second execution with the id of a running one is refused."""

    async def scenario() -> None:
        manager = MockProcessManager()
        executor = create(tmp_path, manager)
        first = asyncio.create_task(executor.execute("one", execution_id="a"))
        (await manager.started(1)).print(b"hello")
        with pytest.raises(UsageError, match="runs already"):
            await executor.execute("two", execution_id="a")
        manager.cleanup()
        first.cancel()
        await asyncio.wait({first})
        executor.close()

    asyncio.run(scenario())


def test_a_mock_debugger_records_and_changes_a_prompt(tmp_path: Path) -> None:
    async def scenario() -> None:
        manager, debugger = MockProcessManager(), MockDebugger(modified_prompt="changed")
        executor = create(tmp_path, manager, debugger=debugger)
        running = asyncio.create_task(executor.execute("one"))
        process = await manager.started(1)
        assert (process.command.stdin, debugger.prompts) == (b"changed", ["one"])
        process.finish(0, b"done")
        assert (await running).result.ok
        executor.close()

    asyncio.run(scenario())


def test_breakpoints_step_and_pause(tmp_path: Path) -> None:
    """A condition stops one prompt; a step stops at the next one too; a replacement is sent."""
    stops: list[str] = []

    async def scenario() -> None:
        async def handle(event: DebugEvent) -> str | None:
            stops.append(f"{event.task_id} {debugger.state}")
            debugger.step() if len(stops) == 1 else debugger.clear()
            return "changed"

        manager = MockProcessManager()
        debugger = BreakpointDebugger(handle, [Breakpoint(condition=lambda event: event.task_id == "b")])
        executor = create(tmp_path, manager, debugger=debugger)
        for number, task in enumerate(("a", "b", "c", "d"), 1):
            running = asyncio.create_task(executor.execute("one", task_id=task))
            process = await manager.started(number)
            assert process.command.stdin == (b"changed" if task in "bc" else b"one")
            process.finish(0, b"done")
            await running
        assert debugger.state == "running" and debugger.breakpoints == ()
        executor.close()

    asyncio.run(scenario())
    assert stops == ["b paused", "c paused"]


def test_a_kill_before_the_first_step_is_a_result() -> None:
    """The attempt has begun, its work has not: it ends as killed, and nothing else is cancelled."""

    async def scenario() -> CallResult:
        running, attempt = RunningAttempts(), Attempt(TaskId("t-1"), "k", "o", "call", 1, "sh", 0.0, number=1)
        never = asyncio.Event()

        async def work() -> CallResult:
            await never.wait()
            raise AssertionError

        asyncio.get_running_loop().call_soon(running.kill, TaskId("t-1"), 1, KillRequest("ann"))
        return await running.run(attempt, work())

    result = asyncio.run(asyncio.wait_for(scenario(), 60))
    assert (result.code, result.message) == (Code.AGENT_KILLED, "killed by ann")
