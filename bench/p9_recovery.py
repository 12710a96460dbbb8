"""P9: from the start of a run after kill -9 until all 1000 open tasks are decided / the same for new tasks.

Decided means: the lock of each task is taken, the claim is a durable record, the next step is chosen, the
sweep has looked for leftovers of the open attempt, and the call waits for a slot. No agent is started.
The first agent may start when the first task is decided; with 8 jobs, the others wait for their turn.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import apsw

from measure import MILLISECONDS, Result, interleave, ratio, scratch, seconds, show, single
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.task import Output, Task
from ostler.process.sweep import MARKER
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from ostler.testing.mocks import MockExecutor

ROUNDS, OPEN, FEW, MANY, JOBS = 3, 1000, 10_000, 1_000_000, 8
ENVIRON = {"PATH": os.environ["PATH"]}
DEAD = {**ENVIRON, "OSTLER_HOST__START_STAGGER_SECONDS": "0", "OSTLER_POOLS__MEDIUM__SIZE": str(OPEN)}
NEXT = {**ENVIRON, "OSTLER_POOLS__MEDIUM__SIZE": "1"}
OLD_EVENTS = """
    INSERT INTO feed (task, at, type, step, basis, body, version)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    SELECT 'old-' || (i % 1000), i, 'tool_used', '', 0, '{"type":"tool_used","tool":"Bash","detail":"make"}',
        6
    FROM n"""


def measure() -> list[Result]:
    with scratch() as place:
        few, many, new, numbers = place / "few", place / "many", place / "new", count()
        add_tasks(new)
        die(few)
        shutil.copytree(few, many)
        fill(few, FEW)
        fill(many, MANY)

        def recover_copy(project: Path, jobs: int = OPEN) -> float:
            copy = shutil.copytree(project, place / f"round-{next(numbers)}")
            took = asyncio.run(recover(copy, jobs))
            shutil.rmtree(copy)
            return took

        ours, fresh, large, first, raw = interleave(
            lambda: recover_copy(few),
            lambda: recover_copy(new),
            lambda: recover_copy(many),
            lambda: recover_copy(few, JOBS),
            lambda: seconds(lambda: read_index(few)),
            rounds=ROUNDS,
        )
    after = f"the first {JOBS} of {OPEN} open tasks decided after kill -9, with {JOBS} jobs"
    return [
        ratio("P9", f"{OPEN} tasks locked, claimed, swept / new tasks", ours, fresh, "<= 1.2", MILLISECONDS),
        ratio("P9", "the same with 1 M events / with 10 k", large, ours, "<= 1.5", MILLISECONDS),
        single("P9", after, first, "<= 250", MILLISECONDS),
        ratio("P9", f"{OPEN} tasks locked, claimed, swept / raw index", ours, raw, "<= 10", MILLISECONDS),
    ]


class Agents:
    """Agents that never end, in this process; counts the calls that came so far."""

    def __init__(self, enough: Callable[[], None], wanted: int = OPEN) -> None:
        self.called = self.asked = 0
        self._enough, self._wanted = enough, wanted
        self.registry = ExecutorRegistry()
        # The tasks are documents, which need no git; this is the executor of a document.
        self.registry.register("model_api", lambda name, settings, runner: self._make(name), replaces=True)

    def _make(self, name: str) -> MockExecutor:
        return MockExecutor(
            name, spawn_function=self._spawn, resume_function=self._spawn, validate_function=self._ask
        )

    def _ask(self) -> None:
        self.asked += 1
        if self.asked == self._wanted:
            self._enough()

    async def _spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        self.called += 1
        if self.called > 1:
            await asyncio.Event().wait()
        # The first call ends with a small memory, so that the host lets all others start.
        return CallResult(None, text="done", session_id=call.session_id, peak_memory_mb=1)


def die(root: Path) -> None:
    """Leave 1000 tasks as a run leaves them that is killed while all of their agents work."""
    with subprocess.Popen([sys.executable, __file__, str(root)], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"working\n", "the run that is to be killed ended by itself"
        run.kill()
    with Project.open(root, NEXT) as project:
        rows = [row.id for row in project.journal.open_rows()]
        running = sum(one.status == "running" for row in rows for one in project.journal.attempts(row))
    assert (len(rows), running) == (OPEN, OPEN)


def add_tasks(root: Path) -> None:
    """Leave as many tasks that no run has started; the first one is of the run that was killed."""
    root.mkdir(parents=True)
    with Project.open(root, NEXT, create=True) as project:
        for number in range(OPEN):
            project.add(create_task(number))


def create_task(number: int) -> Task:
    return Task(f"Task {number}", weight="trivial", output=Output(f"outputs/{number}.md"))


async def work(root: Path) -> None:
    """The run that will be killed."""
    root.mkdir(parents=True)
    project = Project.open(root, DEAD, create=True)
    agents = Agents(lambda: None)
    async with Ostler(project, DEAD, executors=agents.registry) as ostler:
        for number in range(OPEN + 1):
            task = project.add(create_task(number))
            if number == 0:
                await ostler.run(task.id)
        running = asyncio.create_task(ostler.run_all(jobs=OPEN))
        while agents.called <= OPEN and not running.done():
            await asyncio.sleep(0.05)
        assert not running.done(), f"the run ended after {agents.called} calls"
        print("working", flush=True)
        await running


async def recover(root: Path, jobs: int = OPEN) -> float:
    """Seconds until the next run has decided as many tasks as it has jobs.

    After a kill, one leftover process must be swept.
    """
    with Project.open(root, NEXT) as project:
        leftover = start_leftover(project)
        decided = asyncio.Event()
        agents = Agents(decided.set, jobs)
        async with Ostler(project, NEXT, executors=agents.registry) as ostler:
            began = time.perf_counter()
            running = asyncio.create_task(ostler.run_all(jobs=jobs))
            await decided.wait()
            took = time.perf_counter() - began
            check_swept(leftover)
            ostler.stop()
            await running
    return took


def start_leftover(project: Project) -> subprocess.Popen[bytes] | None:
    """A process that looks like one of an attempt of the killed run; None if no run was killed."""
    task = project.journal.open_rows()[0].id
    attempts = project.journal.attempts(task)
    if not attempts:
        return None
    marker = {MARKER: f"{project.journal.store_id}:{task}:{attempts[-1].number}"}
    return subprocess.Popen(["sleep", "600"], env={**os.environ, **marker})


def check_swept(leftover: subprocess.Popen[bytes] | None) -> None:
    assert leftover is None or leftover.wait(5) == -9, "the sweep left a process of the killed run"


def fill(root: Path, events: int) -> None:
    """Add this many old lines to the journal."""
    with Project.open(root, NEXT) as project:
        database = project.layout.database
    db = apsw.Connection(str(database))
    db.execute(OLD_EVENTS, (events,)).fetchall()
    db.close()


def read_index(root: Path) -> None:
    db = apsw.Connection(str(next((root / ".ostler").glob("*.db"))))
    found = db.execute("SELECT id FROM task WHERE open ORDER BY created_at, id").fetchall()
    db.close()
    assert len(found) == OPEN


if __name__ == "__main__":
    if sys.argv[1:]:
        asyncio.run(work(Path(sys.argv[1])))
    else:
        show(measure())
