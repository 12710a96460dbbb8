"""One task end to end with an instant agent: its time, each further call, the run's memory, and --help."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from measure import MEGABYTES, MILLISECONDS, Result, interleave, memory_mb, scratch, seconds, show, single
from sample import Sample

ROUNDS, MEMORY_ROUNDS = 9, 3
CALLS = 20  # of a medium task; a large one commits between its calls
SLEEPER = "#!/bin/sh\necho busy\nexec sleep 30\n"


def measure() -> list[Result]:
    with scratch() as place:
        sample = Sample(place)
        one, many = interleave(lambda: time_task(sample, 1), lambda: time_task(sample, CALLS), rounds=ROUNDS)
        agent, start = interleave(
            lambda: seconds(lambda: sample.run((str(sample.agent),), {})),
            lambda: seconds(lambda: sample.ostler("--help")),
            rounds=ROUNDS,
        )
        memory = [run_memory(sample) for _ in range(MEMORY_ROUNDS)]
    # The minima are subtracted, so that the spread of one round does not appear twice.
    added = [(longer - min(one)) / (CALLS - 1) - min(agent) for longer in many]
    return [
        single("E2E", "one task, ostler run -p, instant agent", one, "<= 250", MILLISECONDS),
        single("E2E", "added by each further call", added, "<= 3", MILLISECONDS),
        single("E2E", "memory of the run while an agent works (PSS)", memory, "<= 45", MEGABYTES, max),
        single("E2E", "ostler --help", start, "<= 70", MILLISECONDS),
    ]


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
