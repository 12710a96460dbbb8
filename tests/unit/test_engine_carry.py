"""One task in a run's hands: what comes from outside while an agent works."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from ostler.clock import SystemClock
from ostler.config.settings import Settings
from ostler.engine.carry import Carrier, Fenced
from ostler.engine.post import post
from ostler.engine.steps.tools import Tools, lock_path, to_its_end
from ostler.errors import Code
from ostler.files.lock import is_locked, try_lock
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.choice import Choice, ModelPool
from ostler.model.event import CallEnded, DecisionRecorded, TaskClaimed, TaskReleased
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.stable import make_stable
from ostler.store.sqlite_ledger import SqliteLedger
from ostler.store.writer import GroupWriter
from ostler.testing.mocks import MockExecutor

Story = Callable[[Project, TaskId, Carrier, asyncio.Event], Awaitable[None]]


def carry(tmp_path: Path, story: Story) -> tuple[State, Project, MockExecutor]:
    """Carry one task whose agent works until it is stopped, while the story is told."""
    project = Project.open(tmp_path, {}, create=True)
    task = project.add(Task("Greet")).id
    working = asyncio.Event()

    async def work(call: AgentCall, on_event: OnEvent) -> CallResult:
        working.set()
        await asyncio.sleep(30)
        raise AssertionError("nobody stopped the agent")

    executor = MockExecutor(spawn_function=work)

    async def scene() -> State:
        writer = GroupWriter(project.layout.database)
        tools = Tools(
            settings=Settings(),
            layout=project.layout,
            repository=None,
            journal=project.journal,
            writer=writer,
            clock=SystemClock(),
            environ={},
            make_executor=lambda choice, lock: executor,
            pool_for=lambda task: ModelPool((Choice("mock", "mock"),)),
            stable=lambda: make_stable(project, SqliteLedger(project.layout.database), SystemClock(), None),
            completed=lambda task, state: (),
            run="ours",
        )
        held = try_lock(lock_path(project.state(task), tools))
        assert held is not None
        carrier = Carrier(task, held, tools)
        told = asyncio.create_task(story(project, task, carrier, working))
        try:
            return await carrier.carry()
        finally:
            await told
            await writer.close()
            assert not is_locked(lock_path(project.state(task), tools))

    return asyncio.run(scene()), project, executor


def test_a_run_whose_task_was_claimed_by_another_keeps_its_hands_off(tmp_path: Path) -> None:
    """A zombie: its agent is stopped, and nothing that it would say is recorded (W2, B8)."""

    async def other_claims(project: Project, task: TaskId, carrier: Carrier, working: asyncio.Event) -> None:
        await working.wait()
        post(project.journal, task, TaskClaimed("another run"), 1.0)
        carrier.look()

    with pytest.raises(Fenced):
        carry(tmp_path, other_claims)
    with Project.open(tmp_path, {}) as project:
        (task,) = [row.id for row in project.journal.rows()]
        events = [record.event for record in project.journal.read(task)]
        assert isinstance(events[-1], TaskClaimed)
        assert not any(isinstance(event, CallEnded) for event in events)


def test_a_cancel_stops_the_agent_and_ends_the_task(tmp_path: Path) -> None:
    """The decision is folded while the agent works; the interrupted call is recorded, then the end."""

    async def person_cancels(
        project: Project, task: TaskId, carrier: Carrier, working: asyncio.Event
    ) -> None:
        await working.wait()
        post(project.journal, task, DecisionRecorded("cancel"), 1.0)
        carrier.look()

    state, project, executor = carry(tmp_path, person_cancels)
    assert (state.status, state.code) == ("cancelled", Code.ABORTED)
    assert len(executor.calls) == 1
    assert [a.status for a in project.journal.attempts(state.task)] == ["interrupted"]


def test_news_about_other_tasks_changes_nothing_until_the_run_stops(tmp_path: Path) -> None:
    """Looking is free; stopping leaves a released, pending task."""

    async def noise_then_stop(
        project: Project, task: TaskId, carrier: Carrier, working: asyncio.Event
    ) -> None:
        await working.wait()
        for _ in range(5):
            carrier.look()
            await asyncio.sleep(0.01)
        carrier.stop()

    state, project, _ = carry(tmp_path, noise_then_stop)
    assert (state.status, state.code) == ("pending", Code.INTERRUPTED)
    assert isinstance(project.journal.read(state.task)[-1].event, TaskReleased)


def test_work_that_fails_after_it_was_cancelled_prints_nothing() -> None:
    """The thread is waited for, and its error belongs to nobody."""
    told: list[object] = []

    def fails_late() -> None:
        time.sleep(0.2)
        raise OSError("too late")

    async def scene() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))
        work = asyncio.create_task(to_its_end(fails_late))
        await asyncio.sleep(0.05)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        del work
        gc.collect()

    asyncio.run(scene())
    assert told == []
