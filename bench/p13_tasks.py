"""P13: tasks that do nothing, end to end through the local driver, against a bare loop of as many commits.

They are documents of one line, so that no worktree is made: git is measured by P11.
"""

from __future__ import annotations

import asyncio
import os
from functools import cache
from pathlib import Path
from time import perf_counter

import apsw

from measure import Result, per_second, ratio, scratch, show
from ostler.clock import SystemClock
from ostler.engine.local import LocalDriver, Wanted
from ostler.engine.steps.tools import Tools
from ostler.executors.protocol import Capabilities
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.choice import Choice, ModelPool
from ostler.model.status import TaskStatus
from ostler.model.task import Output, Task
from ostler.project.project import Project
from ostler.project.stable import make_stable
from ostler.store.sqlite_ledger import SqliteLedger
from ostler.store.writer import GroupWriter

ROUNDS, TASKS, SLOTS = 7, 200, 8
ENVIRON = {"OSTLER_HOST__START_STAGGER_SECONDS": "0", "OSTLER_POOLS__MEDIUM__SIZE": str(SLOTS)}


def measure() -> list[Result]:
    ours, bare = [], []
    with scratch() as place:
        for number in range(ROUNDS):
            rate, commits = asyncio.run(run_tasks(place / f"project-{number}"))
            ours.append(rate)
            bare.append(commit_bare(place / f"bare-{number}.db", commits))
    name = f"no-op tasks at {SLOTS} slots / bare loop of as many commits"
    fastest = max(ours)
    return [
        ratio("P13", name, fastest, max(bare), ">= 0.3", per_second),
        Result("P13", "no-op tasks per second, end to end", fastest, ">= 1000", "/s", per_second(fastest)),
    ]


class Instant:
    """An agent in this process that has nothing to do."""

    name = "instant"
    capabilities = Capabilities()

    def validate_availability(self) -> None:
        """It is always there."""

    async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        return CallResult(None, text="<phase_complete>true</phase_complete>", session_id=call.session_id)

    resume = spawn


async def run_tasks(root: Path) -> tuple[float, int]:
    """Tasks per second, and the commits that they took."""
    root.mkdir(parents=True)
    with Project.open(root, ENVIRON, create=True) as project:
        layout, journal = project.layout, project.journal
        for number in range(TASKS):
            project.add(
                Task(f"Task number {number}", weight="trivial", output=Output(f"outputs/{number}.md"))
            )
        writer, ledger = CountingWriter(layout.database), SqliteLedger(layout.database)
        tools = Tools(
            settings=project.settings,
            layout=layout,
            repository=None,
            journal=journal,
            writer=writer,
            clock=SystemClock(),
            environ=os.environ,
            make_executor=lambda choice, lock: Instant(),
            pool_for=lambda _task: ModelPool((Choice("instant", "instant"),)),
            stable=cache(lambda: make_stable(project, ledger, SystemClock(), None)),
            completed=lambda _task, _state: (),
            run="bench",
        )
        began = perf_counter()
        outcomes = await LocalDriver(tools, SLOTS).run(Wanted())
        took = perf_counter() - began
        await writer.close()
    assert [outcome.status for outcome in outcomes] == [TaskStatus.COMPLETED] * TASKS
    return TASKS / took, writer.commits


class CountingWriter(GroupWriter):
    commits = 0

    def _next_group(self) -> list:
        group = super()._next_group()
        self.commits += bool(group)
        return group


def commit_bare(path: Path, commits: int) -> float:
    """The same number of transactions of one row; as tasks per second."""
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL").fetchall()
    db.execute("CREATE TABLE event (position INTEGER PRIMARY KEY, body TEXT)")
    began = perf_counter()
    for _ in range(commits):
        db.execute("INSERT INTO event (body) VALUES (?)", ("x" * 700,))
    took = perf_counter() - began
    db.close()
    return TASKS / took


if __name__ == "__main__":
    show(measure())
