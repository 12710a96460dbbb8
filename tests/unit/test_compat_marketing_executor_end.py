"""The seed's AgentExecutor: aborts, conflicts, and that it never raises (seed 003, sections 4.4, 11)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from executor_world import LONG, RESEARCH, ExecutorWorld, Setting, deferred_with, failed_with
from ostler.errors import Code, OstlerError
from ostler.files.layout import Layout
from ostler.files.lock import is_locked, try_lock
from ostler.llm.client import ClaudeRequest, ClaudeResponse
from ostler.llm.failure import ModelError
from ostler.model.event import TaskClaimed, TaskReleased
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.agents.executor_config import AgentConfig
from ostler.project.running.execution import ExecutionError, ExecutionErrorCode, ExecutionResult
from world import wait_until

E = ExecutionErrorCode


@pytest.fixture
def world(tmp_path: Path) -> ExecutorWorld:
    return ExecutorWorld(tmp_path)


# Abort/cancellation edge cases


def test_signal_already_aborted_before_execution(world: ExecutorWorld) -> None:
    """ABORTED: no call, no status change, and no project is created."""
    signal = asyncio.Event()
    signal.set()
    assert failed_with(world.execute(signal=signal), E.ABORTED)
    assert not (world.root / ".ostler").exists()
    task = world.add()
    records = world.records(task.id)
    assert failed_with(world.execute(task, signal=signal), E.ABORTED)
    assert (world.records(task.id), world.client.calls) == (records, [])


def test_signal_aborted_during_api_call(world: ExecutorWorld) -> None:
    """ABORTED at once; the client and the task are cancelled."""
    signal = asyncio.Event()
    began = time.monotonic()
    result = world.execute(client=Setting(signal), signal=signal)
    assert failed_with(result, E.ABORTED) and time.monotonic() - began < LONG / 2
    state = world.state(result.task_id)
    assert (state.status, state.code, state.message) == (
        TaskStatus.CANCELLED,
        Code.ABORTED,
        "aborted by its caller",
    )


def test_the_signal_reaches_the_client(world: ExecutorWorld) -> None:
    """A20: a client that works in a thread ends its work when the caller aborts."""
    signal, ended = asyncio.Event(), threading.Event()

    class Threaded:
        async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
            assert request.signal is not None and not request.signal.is_set()
            await asyncio.to_thread(self.work, request.signal, asyncio.get_running_loop())
            raise AssertionError("the work ends with the abort")

        def work(self, seen: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
            loop.call_soon_threadsafe(signal.set)
            for _ in range(int(LONG / 0.01)):
                if seen.is_set():
                    ended.set()
                    return
                time.sleep(0.01)

    assert failed_with(world.execute(client=Threaded(), signal=signal), E.ABORTED)
    assert ended.wait(LONG)


def test_the_signal_of_a_request_combines_caller_and_timeout(world: ExecutorWorld) -> None:
    """Section 9.1: a timeout sets it, too, and the caller's signal stays as it is."""
    signal, seen = asyncio.Event(), list[asyncio.Event]()

    class Slow:
        async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
            assert request.signal is not None
            seen.append(request.signal)
            await asyncio.sleep(LONG)
            raise AssertionError("the call was not stopped")

    overrides = AgentConfig(timeout_ms=1, max_retries=0)
    result = world.execute(client=Slow(), signal=signal, agent_config=overrides)
    assert failed_with(result, E.API_TIMEOUT)
    assert [one.is_set() for one in seen] == [True] and not signal.is_set()


def test_a_timeout_of_the_client_itself(world: ExecutorWorld) -> None:
    """It is a timeout, but not the one of the request."""

    class Late:
        async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
            raise TimeoutError("no route")

    result = world.execute(client=Late(), agent_config=AgentConfig(max_retries=0))
    assert failed_with(result, E.API_TIMEOUT) and result.error is not None
    assert "the client raised TimeoutError: no route" in result.error.message


def test_an_answered_request_was_not_aborted(world: ExecutorWorld) -> None:
    """The signal stays unset after a success."""
    world.execute(signal=asyncio.Event())
    (request,) = world.client.calls
    assert request.signal is not None and not request.signal.is_set()


def test_signal_aborted_between_retries(world: ExecutorWorld) -> None:
    """No further retries, and the delay of a minute ends."""
    signal = asyncio.Event()

    def fail(request: ClaudeRequest) -> ClaudeResponse:
        asyncio.get_running_loop().call_later(0.05, signal.set)
        raise ModelError(Code.OVERLOADED, "busy")

    world.client.generator = fail
    began = time.monotonic()
    result = world.execute(signal=signal, config={"retry_delay_ms": 60_000})
    assert failed_with(result, E.ABORTED) and time.monotonic() - began < LONG / 2
    assert len(world.client.calls) == 1
    assert world.state(result.task_id).status is TaskStatus.CANCELLED


def test_an_abort_at_any_moment_leaves_a_whole_task(world: ExecutorWorld) -> None:
    """At any moment the task is not started, released, cancelled or completed."""
    tasks = [world.add() for _ in range(16)]

    async def scene() -> list[ExecutionResult]:
        executor, loop = world.executor(), asyncio.get_running_loop()
        signals = [asyncio.Event() for _ in tasks]
        for number, signal in enumerate(signals):
            loop.call_later(number * 0.02, signal.set)
        return await asyncio.gather(*map(executor.execute, tasks, signals))

    whole = {TaskStatus.PENDING, TaskStatus.CANCELLED, TaskStatus.COMPLETED}
    for result in asyncio.run(scene()):
        state = world.state(result.task_id)
        assert state.status in whole
        assert (result.status == "completed") == (state.status is TaskStatus.COMPLETED)
        assert result.status == "completed" or failed_with(result, E.ABORTED)


def test_cancelling_at_any_moment_loses_nothing(world: ExecutorWorld) -> None:
    """Each task can be executed again, or is completed with its document."""
    tasks = [world.add() for _ in range(12)]

    async def scene() -> None:
        executor, loop = world.executor(), asyncio.get_running_loop()
        works = [asyncio.create_task(executor.execute(task)) for task in tasks]
        for number, work in enumerate(works):
            loop.call_later(number * 0.02, work.cancel)
        await asyncio.wait(works)
        for task in tasks:
            if world.state(task.id).status is not TaskStatus.COMPLETED:
                assert (await executor.execute(task)).status == "completed"

    asyncio.run(asyncio.wait_for(scene(), LONG))
    assert all((world.root / f"outputs/strategy/research/{task.id}.md").is_file() for task in tasks)


def test_no_signal_provided(world: ExecutorWorld) -> None:
    """The signal is optional."""
    assert world.execute(signal=None).status == "completed"


def test_cancelling_the_coroutine_is_raised_and_leaves_the_task_to_be_executed_again(
    world: ExecutorWorld,
) -> None:
    """Cancellation is raised, and the task can be executed again."""
    task = world.add()
    asked = asyncio.Event()

    async def scene() -> None:
        work = asyncio.create_task(world.executor(Setting(asked)).execute(task))
        await asyncio.wait_for(asked.wait(), LONG)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(scene())
    assert world.state(task.id).status is TaskStatus.PENDING
    assert world.execute(task).status == "completed"


# Never raises


class Odd:
    """A client with scripted behaviour."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    async def complete(self, request: ClaudeRequest) -> Any:
        return self._act()


def throw(error: BaseException) -> Any:
    raise error


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("act", "code"),
    [
        (lambda: None, E.UNKNOWN),
        (lambda: "text", E.UNKNOWN),
        (lambda: ClaudeResponse("text", None, 2, "end_turn"), E.UNKNOWN),
        (lambda: ClaudeResponse(None, 1, 2, "end_turn"), E.UNKNOWN),
        (lambda: ClaudeResponse("\ud800", 1, 2, "end_turn"), E.UNKNOWN),
        (lambda: throw(ExecutionError("busy", E.API_OVERLOADED)), E.API_OVERLOADED),
        (lambda: throw(ExecutionError("late", E.API_TIMEOUT)), E.API_TIMEOUT),
        (lambda: throw(ExecutionError("stop", E.ABORTED)), E.ABORTED),
        (lambda: throw(ConnectionResetError("gone")), E.API_TIMEOUT),
        (lambda: throw(TimeoutError()), E.API_TIMEOUT),
        (lambda: throw(OstlerError(Code.REFUSED, "no")), E.API_ERROR),
        (lambda: throw(ExceptionGroup("two", [ValueError("a")])), E.UNKNOWN),
        (lambda: throw(asyncio.CancelledError()), E.UNKNOWN),
    ],
)
def test_whatever_a_client_does_is_a_result(
    world: ExecutorWorld, act: Callable[[], object], code: ExecutionErrorCode
) -> None:
    """A client may raise the seed's ExecutionError; the executor adds the task id."""
    result = world.execute(client=Odd(act), config={"max_retries": 1})
    state = world.state(result.task_id)
    waits = state.code in (Code.OVERLOADED, Code.NETWORK)
    assert deferred_with(result, code) if waits else failed_with(result, code)
    assert state.status is (TaskStatus.DEFERRED if waits else TaskStatus.FAILED)


def test_an_unknown_stop_reason_is_the_end_of_the_turn(world: ExecutorWorld) -> None:
    """As in the seed's client."""
    odd = Odd(lambda: ClaudeResponse("Farmers.", 1, 2, "pause"))  # pyright: ignore[reportArgumentType]
    assert world.execute(client=odd).status == "completed"


@pytest.mark.parametrize(
    ("config", "overrides", "message"),
    [
        ({}, AgentConfig(timeout_ms=0), "AgentConfig.timeout_ms: expected a number > 0, got 0"),
        ({}, AgentConfig(timeout_ms=-1), "AgentConfig.timeout_ms: expected a number > 0, got -1"),
        ({}, AgentConfig(max_retries=-1), "AgentConfig.max_retries: expected a number >= 0, got -1"),
        ({}, AgentConfig(max_retries="2"), "AgentConfig.max_retries: expected a number >= 0, got '2'"),
        ({"default_timeout_ms": -5}, None, "default_timeout_ms: expected a number > 0, got -5"),
        ({"default_max_tokens": None}, None, "default_max_tokens: expected a number > 0, got None"),
        ({"retry_delay_ms": float("inf")}, None, "retry_delay_ms: expected a number >= 0, got inf"),
    ],
)
def test_a_config_with_an_invalid_number_is_a_result(
    world: ExecutorWorld, config: dict[str, Any], overrides: AgentConfig | None, message: str
) -> None:
    """TASK_NOT_EXECUTABLE; no task is added and the client is not called."""
    result = world.execute(config=config, agent_config=overrides)
    assert failed_with(result, E.TASK_NOT_EXECUTABLE) and str(result.error) == message
    assert world.client.calls == [] and not result.task_id


@pytest.mark.parametrize(
    "place", ["project.agents.agent_executor._run", "engine.steps.agent_call.document.build_document_prompt"]
)
def test_a_bug_is_a_result(world: ExecutorWorld, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """UNKNOWN with the message, the task and the exception; the task is not locked afterwards."""

    def break_down(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    task = world.add()
    monkeypatch.setattr(f"ostler.{place}", break_down)
    result = world.execute(task)
    assert failed_with(result, E.UNKNOWN) and result.task_id == task.id and "a bug" in str(result.error)
    assert result.error is not None and isinstance(result.error.cause, ZeroDivisionError)
    # A program that another thread starts has the descriptor of the lock for a moment, until its exec.
    lock = Layout(world.root).lock(task.id)
    wait_until(lambda: not is_locked(lock), 5, "the task is locked")


def test_settings_with_mistakes_are_a_result(world: ExecutorWorld) -> None:
    """Each invalid value is named, and nothing is created."""
    world.file("ostler.toml", "[run]\njobs = 0\n")
    result = world.execute()
    assert result.error is not None and "jobs" in result.error.message
    assert not (world.root / ".ostler").exists()


def test_a_task_that_asks_for_no_document(world: ExecutorWorld) -> None:
    """A task that changes code is refused."""
    result = world.execute(Task("Fix the login"))
    assert failed_with(result, E.TASK_NOT_EXECUTABLE) and "neither a skill nor an output" in str(result.error)


def test_a_task_that_waits_for_another(world: ExecutorWorld) -> None:
    """The task cannot start now and is unchanged."""
    first = world.add()
    task = world.add(replace(RESEARCH, after=(first.id,)))
    assert failed_with(world.execute(task), E.TASK_NOT_EXECUTABLE)
    assert world.state(task.id).status is TaskStatus.PENDING and world.client.calls == []
    world.execute(first)
    assert world.execute(task).status == "completed"


def test_a_task_of_an_interrupted_run_goes_on(world: ExecutorWorld) -> None:
    """Released by another run: pending again."""
    task = world.add()
    world.record(task.id, TaskClaimed("another"), TaskReleased("stopped"))
    assert world.execute(task).status == "completed"


# Concurrent execution safety (section 11)


def test_same_task_executed_many_times_at_once(world: ExecutorWorld) -> None:
    """One claims the task, the others get a conflict at once, and there is one call."""
    task = world.add()
    world.client.set_delay(200)

    async def scene() -> list[ExecutionResult]:
        executors = [world.executor() for _ in range(3)]
        return await asyncio.gather(*(one.execute(task) for one in executors * 2))

    results = asyncio.run(scene())
    assert sorted(one.status for one in results) == ["completed"] + ["failed"] * 5
    assert all(one.error is None or one.error.code is E.TASK_NOT_EXECUTABLE for one in results)
    assert sum(one.tokens_used.total for one in results) == 300
    assert len(world.client.calls) == 1


def test_a_task_that_another_run_holds_is_left_to_it(world: ExecutorWorld) -> None:
    """The conflict is immediate, even before the other run has recorded its claim."""
    task = world.add()
    held = try_lock(Layout(world.root).lock(task.id))
    assert held is not None
    with held:
        result = world.execute(task)
    assert failed_with(result, E.TASK_NOT_EXECUTABLE) and "claimed by another run" in str(result.error)
    assert world.client.calls == []
    assert world.execute(task).status == "completed"


def test_a_conflict_does_not_cancel_the_other_execution(world: ExecutorWorld) -> None:
    """Aborting the one that lost the claim does not affect the winner."""
    task = world.add()
    world.client.set_delay(200)

    async def scene() -> list[ExecutionResult]:
        signals = [asyncio.Event(), asyncio.Event()]
        executor = world.executor()
        works = [asyncio.create_task(executor.execute(task, signal)) for signal in signals]
        done, _ = await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED)
        signals[works.index(next(iter(done)))].set()
        return await asyncio.gather(*works)

    assert sorted(one.status for one in asyncio.run(scene())) == ["completed", "failed"]


def test_different_tasks_execute_concurrently(world: ExecutorWorld) -> None:
    """One executor, twelve parallel tasks, twelve documents."""
    together, most = 0, 0

    class Slow:
        async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
            nonlocal together, most
            together += 1
            most = max(most, together)
            await asyncio.wait_for(gate.wait(), LONG)
            return ClaudeResponse("Text.", 1, 1, "end_turn")

    gate = asyncio.Event()

    async def scene() -> list[ExecutionResult]:
        executor = world.executor(Slow())
        works = [asyncio.create_task(executor.execute(RESEARCH)) for _ in range(12)]
        while together < 12:
            await asyncio.sleep(0.01)
        gate.set()
        return await asyncio.gather(*works)

    results = asyncio.run(asyncio.wait_for(scene(), LONG))
    assert {one.status for one in results} == {"completed"} and most == 12
    assert len({one.output_path for one in results}) == 12
