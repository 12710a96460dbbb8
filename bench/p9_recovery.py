"""P9: from the start of a run after kill -9 until all 1000 open tasks are decided / a raw index read.

Decided means: the lock of each task is taken, the claim is a durable record, the next step is chosen, the
sweep has looked for leftovers of the open attempt, and the call waits for a slot. No agent is started.
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

from measure import MILLISECONDS, Result, interleave, ratio, scratch, seconds, show
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.task import Output, Task
from ostler.process.sweep import MARKER
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from ostler.testing.mocks import MockExecutor

ROUNDS, OPEN, FEW, MANY = 3, 1000, 10_000, 1_000_000
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
        few, many, numbers = place / "few", place / "many", count()
        die(few)
        shutil.copytree(few, many)
        fill(few, FEW)
        fill(many, MANY)

        def recover_copy(project: Path) -> float:
            copy = shutil.copytree(project, place / f"round-{next(numbers)}")
            took = asyncio.run(recover(copy))
            shutil.rmtree(copy)
            return took

        ours, large, raw = interleave(
            lambda: recover_copy(few),
            lambda: recover_copy(many),
            lambda: seconds(lambda: read_index(few)),
            rounds=ROUNDS,
        )
    return [
        ratio("P9", f"{OPEN} tasks locked, claimed, swept / raw index", ours, raw, "<= 10", MILLISECONDS),
        ratio("P9", "the same with 1 M events / with 10 k", large, ours, "<= 1.5", MILLISECONDS),
    ]


class Agents:
    """Agents that never end, in this process; counts the calls that came so far."""

    def __init__(self, enough: Callable[[], None]) -> None:
        self.called = self.asked = 0
        self._enough = enough
        self.registry = ExecutorRegistry()
        # The tasks are documents, which need no git; this is the executor of a document.
        self.registry.register("model_api", lambda name, settings, runner: self._make(name), replaces=True)

    def _make(self, name: str) -> MockExecutor:
        return MockExecutor(
            name, spawn_function=self._spawn, resume_function=self._spawn, validate_function=self._ask
        )

    def _ask(self) -> None:
        self.asked += 1
        if self.asked == OPEN:
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


async def work(root: Path) -> None:
    """The run that will be killed."""
    root.mkdir(parents=True)
    project = Project.open(root, DEAD, create=True)
    agents = Agents(lambda: None)
    async with Ostler(project, DEAD, executors=agents.registry) as ostler:
        for number in range(OPEN + 1):
            output = Output(f"outputs/{number}.md")
            task = project.add(Task(f"Task {number}", weight="trivial", output=output))
            if number == 0:
                await ostler.run(task.id)
        running = asyncio.create_task(ostler.run_all(jobs=OPEN))
        while agents.called <= OPEN and not running.done():
            await asyncio.sleep(0.05)
        assert not running.done(), f"the run ended after {agents.called} calls"
        print("working", flush=True)
        await running


async def recover(root: Path) -> float:
    """Seconds until the next run has decided every task. One leftover process must be swept."""
    with Project.open(root, NEXT) as project:
        leftover = start_leftover(project)
        decided = asyncio.Event()
        agents = Agents(decided.set)
        async with Ostler(project, NEXT, executors=agents.registry) as ostler:
            began = time.perf_counter()
            running = asyncio.create_task(ostler.run_all(jobs=OPEN))
            await decided.wait()
            took = time.perf_counter() - began
            assert leftover.wait(5) == -9, "the sweep left a process of the killed run"
            ostler.stop()
            await running
    return took


def start_leftover(project: Project) -> subprocess.Popen[bytes]:
    """A process that looks like one of an attempt of the killed run."""
    task = project.journal.open_rows()[-1].id
    number = project.journal.attempts(task)[-1].number
    marker = {MARKER: f"{project.journal.store_id}:{task}:{number}"}
    return subprocess.Popen(["sleep", "600"], env={**os.environ, **marker})


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
