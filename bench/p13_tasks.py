"""P13: tasks that do almost nothing, end to end, with worktree, commit and journal at FULL; CPU per task.

The agent is a function in this process that writes one file, so that only our own work and git are measured.
Baseline: a bare loop of `git worktree add` and `git commit`, as many at once as the run has slots.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Lock

from measure import (
    MILLISECONDS,
    PER_SECOND,
    Result,
    interleave,
    not_measured,
    ratio,
    scratch,
    seconds,
    show,
    single,
)
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from ostler.sandbox.box.tiers import choose_tier
from ostler.testing.mocks import MockExecutor
from sample import GIT

ROUNDS, TASKS, SLOTS = 5, 64, 8
NAME = "no-op tasks per second, with worktree and commit"
ENVIRON = {
    "PATH": os.environ["PATH"],
    "OSTLER_RUN__EXECUTOR": "instant",
    "OSTLER_HOST__START_STAGGER_SECONDS": "0",
    "OSTLER_POOLS__MEDIUM__SIZE": str(SLOTS),
}

ADDING = Lock()  # two `git worktree add` at once can fail


def measure() -> list[Result]:
    with scratch() as place:
        rows = measure_tier(place / "off", "sandbox off", "supervised")
        chosen = choose_tier("auto", os.environ)
        if chosen.is_sandbox:
            return [*rows, *measure_tier(place / "on", "sandbox on", "auto")]
    return [*rows, not_measured("P13", f"{NAME}, sandbox on", ">= 200", chosen.reason)]


def measure_tier(place: Path, label: str, tier: str) -> list[Result]:
    """Return the rate, our CPU and the rate of bare git; the agent itself never runs in a sandbox."""
    place.mkdir()
    cpu: list[float] = []
    numbers = count()
    ours, bare = interleave(
        lambda: TASKS / asyncio.run(run_tasks(new_repository(place / f"ours-{next(numbers)}"), tier, cpu)),
        lambda: TASKS / commit_bare(new_repository(place / f"bare-{next(numbers)}")),
        rounds=ROUNDS,
    )
    name = f"tasks at {SLOTS} slots, {label} / bare git worktree add + commit"
    return [
        single("P13", f"{NAME}, {label}", ours, ">= 200", PER_SECOND, max),
        single("P13", f"CPU of our process per task, {label}", cpu, "<= 3", MILLISECONDS),
        ratio("P13", name, ours, bare, ">= 0.3", PER_SECOND, max),
    ]


def new_repository(root: Path) -> Path:
    root.mkdir()
    (root / "README").write_text("A project.\n")
    (root / ".gitignore").write_text(".ostler/\n")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "first")):
        subprocess.run([*GIT, *command], cwd=root, check=True, capture_output=True)
    return root


async def write_file(call: AgentCall, on_event: OnEvent) -> CallResult:
    """The agent: writes one new file and ends."""
    Path(call.cwd, "hello.txt").write_text("hello\n")
    return CallResult(
        None,
        text="<phase_complete>true</phase_complete>",
        session_id=call.session_id,
        peak_memory_mb=1,
    )


async def run_tasks(root: Path, tier: str, cpu: list[float]) -> float:
    """Seconds for all tasks; adds the CPU that one of them took."""
    registry = ExecutorRegistry()
    registry.register("instant", lambda name, settings, runner: MockExecutor(name, spawn_function=write_file))
    environ = {**ENVIRON, "OSTLER_SANDBOX__TIER": tier}
    project = Project.open(root, {**environ, "HOME": str(root.parent)}, create=True)
    async with Ostler(project, environ, executors=registry) as ostler:
        for number in range(TASKS):
            project.add(Task(f"Task number {number}", weight="trivial"))
        used, began = time.process_time(), time.perf_counter()
        outcomes = await ostler.run_all(jobs=SLOTS)
        took = time.perf_counter() - began
        cpu.append((time.process_time() - used) / TASKS)
    assert [outcome.status for outcome in outcomes] == [TaskStatus.COMPLETED] * TASKS, outcomes[0]
    branches = subprocess.run(
        ["git", "for-each-ref", "refs/heads/ostler"], cwd=root, check=True, capture_output=True
    )
    assert branches.stdout.count(b"\n") == TASKS, "a task left no commit"
    return took


def commit_bare(root: Path) -> float:
    """Seconds for as many worktrees and commits by git alone."""
    with ThreadPoolExecutor(SLOTS) as threads:
        return seconds(lambda: list(threads.map(lambda number: commit_once(root, number), range(TASKS))))


def commit_once(root: Path, number: int) -> None:
    tree = root.parent / f"{root.name}-tree-{number}"
    with ADDING:
        subprocess.run(["git", "worktree", "add", "-q", "-b", f"b{number}", tree], cwd=root, check=True)
    (tree / "hello.txt").write_text("hello\n")
    subprocess.run(["git", "add", "-A"], cwd=tree, check=True)
    subprocess.run([*GIT, "commit", "-q", "-m", "hello"], cwd=tree, check=True)


if __name__ == "__main__":
    show(measure())
