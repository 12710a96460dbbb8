"""The tasks of one worker of a cluster: how many it takes, and what it gives back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from git_world import make_world
from ostler.engine.core.rules import RULES
from ostler.engine.temporal.give_back import GivenBack
from ostler.engine.temporal.task_runs import NOT_READY, TaskRuns
from ostler.errors import Code, OstlerError
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.process.lease import Lease
from ostler.project.project import Project
from ostler.testing.mocks import CallFunction
from step_services import make_services


class Runs:
    """A worker's runs, and what it printed."""

    def __init__(self, project: Project, runs: TaskRuns, printed: list[str]) -> None:
        self.project = project
        self.runs = runs
        self.printed = printed

    def add(self, title: str = "One") -> TaskId:
        return self.project.add(Task(title)).id

    async def run(self, task: TaskId) -> str:
        """Return the status, or the reason why the task is given back."""
        try:
            return await self.runs.open(task, Lease(60)).run()
        except GivenBack as end:
            return end.reason


def use(tmp_path: Path, work: CallFunction, test: Callable[[Runs], Awaitable[None]], jobs: int = 2) -> None:
    project = Project.open(make_world(tmp_path).project, {}, create=True)
    printed: list[str] = []

    async def scene() -> None:
        writer = project.store.open_writer()
        runs = TaskRuns(make_services(project, writer, work), lambda: jobs, printed.append)
        runs.update_room()
        try:
            await test(Runs(project, runs, printed))
        finally:
            await writer.close()

    asyncio.run(scene())


async def succeed(call: AgentCall, on_event: OnEvent) -> CallResult:
    (Path(call.cwd) / "work.txt").write_text("done")
    return CallResult(None, text="<phase_complete>true</phase_complete>", exit_code=0)


async def work_long(call: AgentCall, on_event: OnEvent) -> CallResult:
    await asyncio.sleep(30)
    return CallResult(None)


async def start(runs: Runs, task: TaskId) -> asyncio.Task[str]:
    """Run a task, and return when its agent works."""
    work = asyncio.create_task(runs.run(task))
    while runs.project.show(task).status != "in_progress":
        await asyncio.sleep(0.02)
    return work


def test_a_task_is_run_once(tmp_path: Path) -> None:
    """An order that comes again, for a task that has ended, changes nothing."""

    async def test(runs: Runs) -> None:
        task = runs.add()
        assert await runs.run(task) == "completed"
        records = runs.project.journal.read(task)
        assert await runs.run(task) == NOT_READY
        assert await runs.run(TaskId("gone-1")) == NOT_READY
        assert runs.project.journal.read(task) == records

    use(tmp_path, succeed, test)


def test_what_does_not_fit_is_given_back(tmp_path: Path) -> None:
    """Workers with several queues may get more tasks than they have jobs; none is run twice at once."""

    async def test(runs: Runs) -> None:
        first, second = runs.add("One"), runs.add("Two")
        work = await start(runs, first)
        assert not runs.runs.has_room(1)
        assert await runs.run(second) == "full"
        runs.runs.stop()
        assert await work == "stopped"
        assert not runs.runs.has_room(0)
        assert await runs.run(second) == "stopped"
        released = [record.event.__class__.__name__ for record in runs.project.journal.read(first)]
        assert released[-1] == "TaskReleased"

    use(tmp_path, work_long, test, jobs=1)


def test_a_task_of_a_newer_version_is_left_to_its_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older worker would continue it by its own rules; it writes nothing, and prints why."""

    async def test(runs: Runs) -> None:
        with monkeypatch.context() as patch:
            patch.setattr("ostler.project.tasks.adding.RULES", RULES + 1)
            task = runs.add()
        records = runs.project.journal.read(task)
        assert [await runs.run(task), await runs.run(task)] == ["newer", "newer"]
        assert runs.project.journal.read(task) == records
        assert len(runs.printed) == 1 and "upgrade Ostler on this machine" in runs.printed[0]
        assert await runs.run(runs.add("Two")) == "completed"

    use(tmp_path, succeed, test)


def test_an_abandoned_run_records_nothing(tmp_path: Path) -> None:
    """Another worker may have claimed the task; what this one writes would come between its records."""

    async def test(runs: Runs) -> None:
        task = runs.add()
        run = runs.runs.open(task, Lease(60))
        work = asyncio.create_task(run.run())
        while runs.project.show(task).status != "in_progress":
            await asyncio.sleep(0.02)
        records = runs.project.journal.read(task)
        run.abandon()
        with pytest.raises(GivenBack, match="lost"):
            await work
        assert runs.project.journal.read(task) == records
        assert [message for message in runs.printed if f"the run of {task} ends here" in message]

    use(tmp_path, work_long, test)


def test_a_worker_whose_machine_fails_pauses(tmp_path: Path) -> None:
    """The reason is printed here; the server gets one word, and another worker the task."""

    async def fail(call: AgentCall, on_event: OnEvent) -> CallResult:
        raise OstlerError(Code.DISK_FULL, "no space left to write /secret/place")

    async def test(runs: Runs) -> None:
        assert runs.runs.has_room(0)
        assert await runs.run(runs.add()) == "host-failed"
        assert not runs.runs.has_room(0)
        runs.runs.update_room()
        assert not runs.runs.has_room(0)
        assert "/secret/place" in runs.printed[0] and "30 s" in runs.printed[0]

    use(tmp_path, fail, test)


def test_a_bug_ends_one_run_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its text is in the log of the worker and not on the server; other tasks go on."""

    async def test(runs: Runs) -> None:
        task, other = runs.add("One"), runs.add("Two")
        services = runs.runs.services
        runs.runs.services = replace(services, take_in_file=lambda _: 1 / 0)
        assert await runs.run(task) == "failed"
        runs.runs.services = services
        assert await runs.run(other) == "completed"
        assert runs.runs.has_room(0)

    use(tmp_path, succeed, test)
    assert "ZeroDivisionError" in caplog.text


def test_one_outage_is_one_pause_whatever_number_of_runs_it_ends(tmp_path: Path) -> None:
    """Eight runs that end at the same time are not eight failures in a row; each reason is printed."""

    async def test(runs: Runs) -> None:
        for number in range(8):
            runs.runs.note_error(OstlerError(Code.STATE_BUSY, f"no answer to run {number}"))
        assert len(runs.printed) == 8
        assert [message for message in runs.printed if "no further task is started here" in message] == [
            "no answer to run 0  (no further task is started here for 30 s)"
        ]

    use(tmp_path, succeed, test)


def test_an_error_before_the_claim_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store may end its connection between two reads; the task is not locked by nobody for ever."""

    def fail(*_: object) -> bool:
        raise OstlerError(Code.STATE_BUSY, "the store does not answer")

    async def test(runs: Runs) -> None:
        task = runs.add()
        with monkeypatch.context() as patch:
            patch.setattr("ostler.engine.temporal.task_runs.is_startable", fail)
            patch.setattr("ostler.engine.temporal.task_runs._LOCK_SECONDS", 0.2)
            assert await runs.run(task) == "host-failed"
        monkeypatch.setattr("ostler.engine.temporal.task_runs._LOCK_SECONDS", 0.2)
        assert await runs.run(task) == "completed"

    use(tmp_path, succeed, test)
