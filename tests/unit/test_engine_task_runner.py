"""The task runner: records of other processes while an agent works."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from ostler.calls.thread import run_in_thread
from ostler.clock import SystemClock
from ostler.config.settings import Settings
from ostler.engine.records import append_event
from ostler.engine.steps.services import StepServices, lock_path
from ostler.engine.task_runner import Fenced, TaskRunner
from ostler.errors import Code
from ostler.files.lock import is_locked, try_lock
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.event import CallEnded, DecisionRecorded, TaskClaimed, TaskReleased
from ostler.model.ids import TaskId
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.model.state import State
from ostler.model.task import Task
from ostler.project.agents.call_services import create_call_services
from ostler.project.project import Project
from ostler.store.accounts.sqlite import SqliteAccounts
from ostler.testing.mocks import MockExecutor

History = Callable[[Project, TaskId, TaskRunner, asyncio.Event], Awaitable[None]]


async def end_at_once() -> None:
    """The agent has nothing to clean up."""


def run_task(
    tmp_path: Path, history: History, clean_up: Callable[[], Awaitable[None]] = end_at_once
) -> tuple[State, Project, MockExecutor]:
    """Run one task whose agent works until it is stopped, while the events are written."""
    project = Project.open(tmp_path, {}, create=True)
    task = project.add(Task("Greet")).id
    working = asyncio.Event()

    async def work(call: AgentCall, on_event: OnEvent) -> CallResult:
        working.set()
        try:
            await asyncio.sleep(15)
        except asyncio.CancelledError:
            await clean_up()
            raise
        raise AssertionError("the agent was not stopped")

    executor = MockExecutor(spawn_function=work)

    async def scene() -> State:
        writer = project.store.open_writer()
        tools = StepServices(
            settings=Settings(),
            layout=project.layout,
            repository=None,
            journal=project.journal,
            writer=writer,
            store=project.store,
            clock=SystemClock(),
            environ={},
            make_executor=lambda choice, lock: executor,
            pool_for=lambda task: ModelPool((ModelConfig("mock", "mock"),)),
            get_call_services=lambda: create_call_services(
                project,
                project.store.open_ledger(),
                SqliteAccounts(None),
                SystemClock(),
                None,
            ),
            on_completed=lambda task, state: (),
            run="ours",
        )
        held = try_lock(lock_path(project.state(task), tools))
        assert held is not None
        runner = TaskRunner(task, held, tools)
        reported = asyncio.create_task(history(project, task, runner, working))
        try:
            return await runner.run()
        finally:
            await reported
            await writer.close()
            assert not is_locked(lock_path(project.state(task), tools))

    return asyncio.run(scene()), project, executor


def test_a_run_whose_task_was_claimed_by_another_writes_nothing(tmp_path: Path) -> None:
    """The agent is stopped and its result is not recorded (W2, B8)."""

    async def other_claims(
        project: Project, task: TaskId, runner: TaskRunner, working: asyncio.Event
    ) -> None:
        await working.wait()
        append_event(project.journal, task, TaskClaimed("another run"), 1.0)
        runner.wake()

    with pytest.raises(Fenced):
        run_task(tmp_path, other_claims)
    with Project.open(tmp_path, {}) as project:
        (task,) = [row.id for row in project.journal.rows()]
        events = [record.event for record in project.journal.read(task)]
        assert isinstance(events[-1], TaskClaimed)
        assert not any(isinstance(event, CallEnded) for event in events)


def test_an_abandoned_run_records_nothing(tmp_path: Path) -> None:
    """Another worker has the task or may have it soon: no result, no end of the attempt and no release."""
    before: list[int] = []

    async def is_abandoned(
        project: Project, task: TaskId, runner: TaskRunner, working: asyncio.Event
    ) -> None:
        await working.wait()
        before.append(project.journal.position())
        runner.abandon()

    with pytest.raises(Fenced):
        run_task(tmp_path, is_abandoned)
    with Project.open(tmp_path, {}) as project:
        assert [project.journal.position()] == before
        (row,) = project.journal.rows()
        assert row.status == "in_progress"
        assert [attempt.status for attempt in project.journal.attempts(row.id)] == ["running"]


def test_a_run_whose_task_its_own_process_claimed_again_writes_nothing(tmp_path: Path) -> None:
    """Two runs of one worker have the same name: the number of the claim differs."""

    async def claims_again(
        project: Project, task: TaskId, runner: TaskRunner, working: asyncio.Event
    ) -> None:
        await working.wait()
        append_event(project.journal, task, TaskClaimed("ours"), 1.0)
        runner.wake()

    with pytest.raises(Fenced):
        run_task(tmp_path, claims_again)
    with Project.open(tmp_path, {}) as project:
        (row,) = project.journal.rows()
        assert isinstance(project.journal.read(row.id)[-1].event, TaskClaimed)
        assert [attempt.status for attempt in project.journal.attempts(row.id)] == ["running"]


def test_a_cancel_stops_the_agent_and_ends_the_task(tmp_path: Path) -> None:
    """The decision is folded while the agent works; the interrupted call is recorded, then the end."""

    async def person_cancels(
        project: Project, task: TaskId, runner: TaskRunner, working: asyncio.Event
    ) -> None:
        await working.wait()
        append_event(project.journal, task, DecisionRecorded("cancel"), 1.0)
        runner.wake()

    state, project, executor = run_task(tmp_path, person_cancels)
    assert (state.status, state.code) == ("cancelled", Code.ABORTED)
    assert len(executor.calls) == 1
    assert [a.status for a in project.journal.attempts(state.task)] == ["interrupted"]


def test_an_agent_that_is_stopping_is_not_stopped_again(tmp_path: Path) -> None:
    """More news while the agent cleans up does not cut that short."""
    cleaned: list[bool] = []

    async def clean_up() -> None:
        await asyncio.sleep(0.2)
        cleaned.append(True)

    async def person_cancels(
        project: Project, task: TaskId, runner: TaskRunner, working: asyncio.Event
    ) -> None:
        await working.wait()
        append_event(project.journal, task, DecisionRecorded("cancel"), 1.0)
        for _ in range(5):
            runner.wake()
            await asyncio.sleep(0.01)

    state, _, _ = run_task(tmp_path, person_cancels, clean_up)
    assert (state.status, cleaned) == ("cancelled", [True])


def test_news_about_other_tasks_changes_nothing_until_the_run_stops(tmp_path: Path) -> None:
    """Other records change nothing; a stop leaves a released, pending task."""

    async def noise_then_stop(
        project: Project, task: TaskId, runner: TaskRunner, working: asyncio.Event
    ) -> None:
        await working.wait()
        for _ in range(5):
            runner.wake()
            await asyncio.sleep(0.01)
        runner.stop()

    state, project, _ = run_task(tmp_path, noise_then_stop)
    assert (state.status, state.code) == ("pending", Code.INTERRUPTED)
    assert isinstance(project.journal.read(state.task)[-1].event, TaskReleased)


def test_work_that_fails_after_it_was_cancelled_prints_nothing() -> None:
    """The thread is waited for, and its error is dropped."""
    reported: list[object] = []

    def fails_late() -> None:
        time.sleep(0.2)
        raise OSError("too late")

    async def scene() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reported.append(context))
        work = asyncio.create_task(run_in_thread(fails_late))
        await asyncio.sleep(0.05)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        del work
        gc.collect()

    asyncio.run(scene())
    assert reported == []
