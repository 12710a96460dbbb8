"""One task end to end with an instant agent: its time, each further call, the run's memory, and --help.

Without a sandbox and with one. Beside the times are the counts of processes, durable commits and flushes,
which other work on the machine does not change.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from measure import (
    MEGABYTES,
    MILLISECONDS,
    Result,
    Unit,
    interleave,
    memory_mb,
    not_measured,
    scratch,
    seconds,
    show,
    single,
)
from ostler.sandbox.box.tiers import choose_tier
from sample import Sample

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from counted import Counts, count_run

ROUNDS, MEMORY_ROUNDS = 9, 3
TIERS = {"sandbox off": "supervised", "sandbox on": "auto"}
COUNTED_CALLS = 6
RENAMES = {"supervised": "<= 7", "auto": "<= 12"}
CALLS = 20  # of a medium task; a large one commits between its calls
COUNT = Unit("")
SLEEPER = "#!/bin/sh\necho busy\nexec sleep 30\n"


def measure() -> list[Result]:
    with scratch() as place:
        sample = Sample(place / "memory")
        tasks = [row for name, tier in TIERS.items() for row in measure_tasks(place, name, tier)]
        agent, start = interleave(
            lambda: seconds(lambda: sample.run((str(sample.agent),), {})),
            lambda: seconds(lambda: sample.ostler("--help")),
            rounds=ROUNDS,
        )
        memory = [run_memory(sample) for _ in range(MEMORY_ROUNDS)]
    return [
        *tasks,
        single("E2E", "the agent alone", agent, "<= 10", MILLISECONDS),
        single("E2E", "memory of the run while an agent works (PSS)", memory, "<= 45", MEGABYTES, max),
        single("E2E", "ostler --help", start, "<= 70", MILLISECONDS),
    ]


def measure_tasks(place: Path, name: str, tier: str) -> list[Result]:
    """Return the times of one task and of each further call, and their counts."""
    if tier == "auto" and not (chosen := choose_tier(tier, os.environ)).is_sandbox:
        return [not_measured("P17", f"one task, {name}", "<= 250", chosen.reason)]
    sample = Sample(place / name.replace(" ", "-"), tier=tier)
    one, many = interleave(lambda: time_task(sample, 1), lambda: time_task(sample, CALLS), rounds=ROUNDS)
    # The minima are subtracted, so that the spread of one round does not appear twice.
    added = [(longer - min(one)) / (CALLS - 1) for longer in many]
    first, more = count_task(sample, 2), count_task(sample, 2 + COUNTED_CALLS)
    whole, further = count_task(sample, 1), more.since(first)
    return [
        single("P17", f"one task, ostler run -p, instant agent, {name}", one, "<= 250", MILLISECONDS),
        single("P17", f"each further call, the agent included, {name}", added, "<= 8", MILLISECONDS),
        count_row("P15", f"git processes of a further call, {name}", further.git_processes, "<= 0"),
        count_row("P15", f"durable commits of a further call, {name}", further.commits, "<= 3"),
        count_row("P15", f"flushes of a further call, {name}", further.all_flushes, "<= 1"),
        count_row("P15", f"renames of a further call, {name}", further.renames, RENAMES[tier]),
        single("P16", f"git processes of ostler run -p, {name}", [whole.git_processes], "<= 10", COUNT),
    ]


def count_row(goal: str, name: str, count: int, target: str) -> Result:
    """A count of one call, from a run with more calls and one with fewer."""
    return single(goal, name, [count / COUNTED_CALLS], target, COUNT)


def count_task(sample: Sample, calls: int) -> Counts:
    """Return what a whole `ostler run` does whose agent completes with this call."""
    sample.finish_at(calls)
    command = ("run", "-p", "Say hello", "--weight", "medium")
    counts, done = count_run(command, sample.root, sample.environ, sample.place / "trace.txt")
    assert done.returncode == 0 and sample.calls == calls, done.stderr
    return counts


def time_task(sample: Sample, calls: int) -> float:
    """Return the time of a whole `ostler run` whose agent completes with this call."""
    sample.finish_at(calls)
    weight = () if calls == 1 else ("--weight", "medium")
    took = seconds(lambda: sample.ostler("run", "-p", "Say hello", *weight))
    assert sample.calls == calls, f"the agent was called {sample.calls} times, not {calls}"
    return took


def run_memory(sample: Sample) -> float:
    """Return the memory of the run, its forker and the keeper, without the agent, while the agent sleeps."""
    sample.agent.write_text(SLEEPER)
    run = subprocess.Popen(
        [Path(sys.executable).with_name("ostler"), "run", "-p", "Sleep"],
        cwd=sample.root,
        env=sample.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        tree = wait_for_agent(psutil.Process(run.pid))
        return sum(memory_mb(process.pid) for process in tree if process.name() != "sleep")
    finally:
        run.send_signal(signal.SIGTERM)
        run.wait()


def wait_for_agent(run: psutil.Process) -> list[psutil.Process]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        tree = [run, *run.children(recursive=True)]
        with suppress(psutil.NoSuchProcess):  # git, which prepares the worktree, starts and ends
            if any(process.name() == "sleep" for process in tree):
                return tree
        time.sleep(0.02)
    raise RuntimeError("the agent did not start")


if __name__ == "__main__":
    show(measure())
