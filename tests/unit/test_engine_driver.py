"""The local driver with tasks that another run has locked."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from git_world import make_world
from ostler.clock import SystemClock
from ostler.engine.driver import LocalDriver, TaskSelection
from ostler.engine.records import append_event
from ostler.engine.steps.services import lock_path
from ostler.errors import Code, StateError
from ostler.files.lock import try_lock
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.event import DecisionRecorded, TaskPaused
from ostler.model.outcome import Outcome
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.store.sqlite.journal import SqliteJournal
from step_services import make_services


def test_a_task_that_another_run_holds_is_waited_for(tmp_path: Path) -> None:
    """This also holds if the last queued task is locked while another one runs."""
    project = Project.open(make_world(tmp_path).project, {}, create=True)
    held, ours, lost = (project.add(Task(title)).id for title in ("Held", "Ours", "Lost"))

    async def work(call: AgentCall, on_event: OnEvent) -> CallResult:
        if project.show(lost).status == "pending":
            append_event(project.journal, lost, TaskPaused(None, ""), SystemClock().now())
        (Path(call.cwd) / "work.txt").write_text("done")
        return CallResult(None, text="<phase_complete>true</phase_complete>", exit_code=0)

    async def scene() -> list[Outcome]:
        writer = project.store.open_writer()
        tools = make_services(project, writer, work)
        other = try_lock(lock_path(project.state(held), tools))
        assert other is not None
        run = asyncio.create_task(LocalDriver(tools, jobs=1).run(TaskSelection()))
        while not run.done() and project.show(ours).status != "completed":
            await asyncio.sleep(0.02)
        other.release()
        try:
            return await run
        finally:
            await writer.close()

    assert {outcome.task_id for outcome in asyncio.run(scene())} == {held, ours}


def test_an_error_of_the_journal_does_not_end_the_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancellation by another process is noticed after it."""
    project = Project.open(make_world(tmp_path).project, {}, create=True)
    task = project.add(Task("Ours")).id
    read_version, failures = project.journal.version, ["first", "second"]

    async def work(call: AgentCall, on_event: OnEvent) -> CallResult:
        await asyncio.sleep(5)
        return CallResult(None)

    def fail_twice() -> int:
        if failures:
            raise StateError(Code.STATE_BUSY, failures.pop())
        return read_version()

    async def scene() -> list[Outcome]:
        writer = project.store.open_writer()
        driver = LocalDriver(make_services(project, writer, work), jobs=1)
        run = asyncio.create_task(driver.run(TaskSelection()))
        while not project.journal.attempts(task):
            await asyncio.sleep(0.02)
        monkeypatch.setattr(project.journal, "version", fail_twice)
        while failures:
            await asyncio.sleep(0.05)
        with SqliteJournal(project.layout.database) as other:
            append_event(other, task, DecisionRecorded("cancel", "x"), SystemClock().now())
        try:
            return await asyncio.wait_for(run, 10)
        finally:
            await writer.close()

    assert [outcome.status for outcome in asyncio.run(scene())] == ["cancelled"]


def test_more_jobs_apply_while_all_are_used(tmp_path: Path) -> None:
    """A second task starts while the first one runs (C140)."""
    project = Project.open(make_world(tmp_path).project, {}, create=True)
    first, second = (project.add(Task(title)).id for title in ("First", "Second"))
    jobs, both = [1], asyncio.Event()

    async def work(call: AgentCall, on_event: OnEvent) -> CallResult:
        jobs.append(2)
        if len(jobs) == 3:
            both.set()
        await asyncio.wait_for(both.wait(), 20)
        (Path(call.cwd) / "work.txt").write_text("done")
        return CallResult(None, text="<phase_complete>true</phase_complete>", exit_code=0)

    async def scene() -> list[Outcome]:
        writer = project.store.open_writer()
        try:
            driver = LocalDriver(make_services(project, writer, work), lambda: jobs[-1])
            return await driver.run(TaskSelection())
        finally:
            await writer.close()

    outcomes = {one.task_id: one.status for one in asyncio.run(scene())}
    assert outcomes == {first: "completed", second: "completed"}


def test_a_record_that_comes_while_successors_are_blocked_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a rewind of another predecessor: its successor is blocked too."""
    project = Project.open(make_world(tmp_path).project, {}, create=True)
    first, second = (project.add(Task(title)).id for title in ("First", "Second"))
    decision, looks = DecisionRecorded("cancel", "x"), list[int]()

    def look(tasks: object, services: object) -> None:
        looks.append(project.journal.position())
        if len(looks) == 1:
            with SqliteJournal(project.layout.database) as other:
                append_event(other, first, decision, SystemClock().now())

    async def work(call: AgentCall, on_event: OnEvent) -> CallResult:
        return CallResult(None)

    async def scene() -> None:
        writer = project.store.open_writer()
        try:
            driver = LocalDriver(make_services(project, writer, work), jobs=1)
            append_event(project.journal, second, decision, SystemClock().now())
            for _ in range(3):
                driver.wake_runners()
        finally:
            await writer.close()

    monkeypatch.setattr("ostler.engine.driver.block_successors", look)
    asyncio.run(scene())
    assert len(looks) == 2 and looks[0] < looks[1]
