"""P13: tasks that do nothing, end to end through the local driver, against a bare loop of as many commits.

They have no workspace, as a document task has none: git, which makes worktrees, is measured by P11.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from time import perf_counter

import apsw

from measure import Result, per_second, ratio, scratch, show
from ostler.clock import SystemClock
from ostler.config.settings import Settings
from ostler.engine.local import LocalDriver, Wanted
from ostler.engine.post import RULES, create
from ostler.engine.steps import perform
from ostler.engine.steps.tools import Tools
from ostler.executors.protocol import Capabilities
from ostler.files.atomic import make_private_dir
from ostler.files.layout import Layout
from ostler.git.repository import Repository
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.event import TaskCreated, TaskStarted
from ostler.model.ids import TaskId
from ostler.model.plan import plan_for
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.project import make_state
from ostler.store.sqlite import SqliteJournal
from ostler.store.writer import GroupWriter

ROUNDS, TASKS, SLOTS = 7, 200, 8


def measure() -> list[Result]:
    perform.prepare = lambda _state, _tools: TaskStarted()
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
    layout = Layout(root)
    make_state(layout)
    with SqliteJournal(layout.database, create=True) as journal:
        for number in range(TASKS):
            add(journal, layout, number)
        writer = CountingWriter(layout.database)
        tools = Tools(
            settings=Settings(),
            layout=layout,
            repository=Repository(root, root, root),  # so that each task has a lock of its own
            journal=journal,
            writer=writer,
            clock=SystemClock(),
            environ=os.environ,
            make_executor=lambda _name, _lock: Instant(),
            run="bench",
        )
        began = perf_counter()
        outcomes = await LocalDriver(tools, SLOTS).run(Wanted())
        took = perf_counter() - began
        await writer.close()
    assert [outcome.status for outcome in outcomes] == [TaskStatus.COMPLETED] * TASKS
    return TASKS / took, writer.commits


def add(journal: SqliteJournal, layout: Layout, number: int) -> None:
    task = Task(f"Task number {number}", weight="trivial", id=TaskId(f"task-{number:04d}"))
    assert create(journal, TaskCreated(task, plan_for(task.weight), RULES, f"{number:032x}"), 1.7e9 + number)
    make_private_dir(layout.task(task.id))


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
