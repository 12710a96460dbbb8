"""One task end to end with an instant agent: its time, each further call, the run's memory, and --help."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from measure import Result, interleave, memory_mb, milliseconds, minima, scratch, seconds, show
from sample import Sample

ROUNDS = 9
CALLS = 20  # a medium task has so many; a large one commits between them, which is git
SLEEPER = "#!/bin/sh\necho busy\nexec sleep 30\n"


def measure() -> list[Result]:
    with scratch() as place:
        sample = Sample(place)
        one, many = minima(lambda: time_task(sample, 1), lambda: time_task(sample, CALLS), rounds=ROUNDS)
        agent, start = interleave(
            lambda: sample.run((str(sample.agent),), {}), lambda: sample.ostler("--help"), ROUNDS
        )
        added = (many - one) / (CALLS - 1) - agent
        memory = run_memory(sample)
    return [
        Result("E2E", "one task, ostler run -p, instant agent", one * 1e3, "<= 250", "ms", milliseconds(one)),
        Result("E2E", "added by each further call", added * 1e3, "<= 3", "ms", milliseconds(added)),
        Result("E2E", "memory of the run while an agent works (PSS)", memory, "<= 45", "MB"),
        Result("E2E", "ostler --help", start * 1e3, "<= 70", "ms", milliseconds(start)),
    ]


def time_task(sample: Sample, calls: int) -> float:
    """A whole `ostler run` whose agent is done with its so many-th call."""
    sample.finish_at(calls)
    weight = () if calls == 1 else ("--weight", "medium")
    took = seconds(lambda: sample.ostler("run", "-p", "Say hello", *weight))
    assert sample.calls == calls, f"the agent was called {sample.calls} times, not {calls}"
    return took


def run_memory(sample: Sample) -> float:
    """The run, its forker and the keeper, while the agent sleeps; the agent's own memory is not ours."""
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
        with suppress(psutil.NoSuchProcess):  # git, which prepares the worktree, comes and goes
            if any(process.name() == "sleep" for process in tree):
                return tree
        time.sleep(0.02)
    raise RuntimeError("the agent did not start")


if __name__ == "__main__":
    show(measure())
