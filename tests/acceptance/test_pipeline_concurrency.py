"""The concurrency of a pipeline is counted across processes (T18)."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Lock

import pytest

from document_world import DocumentWorld, answer
from ostler.testing.fake_llm import FakeLlm, Request, Turn
from world import KILL, wait_until

STEPS = 6


@pytest.mark.full
@pytest.mark.sampled(1)
@pytest.mark.parametrize("limit", [1, 2])
def test_two_runs_together_keep_to_the_limit(tmp_path: Path, limit: int) -> None:
    """Two `run --all` never run more steps at once than `concurrency`, and both finish."""
    world = DocumentWorld(tmp_path)
    world.pipeline("wide", f"concurrency: {limit}\nsteps:\n  - parallel: [{', '.join(['copy'] * STEPS)}]\n")
    lock, at_work, most = Lock(), [0], [0]

    def turn(request: Request) -> Turn:
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        time.sleep(0.3)
        with lock:
            at_work[0] -= 1
        return answer(request, 0)

    with FakeLlm(turn) as llm:
        world.asks(llm)
        world.ostler("pipeline", "run", "wide", "--later")
        runs = [world.start("run", "--all", "-j", "4") for _ in range(2)]
        assert [run.wait(60) for run in runs] == [0, 0]
    tasks = world.json("status")["tasks"]
    assert [task["status"] for task in tasks] == ["completed"] * STEPS
    assert len(llm.requests) == STEPS
    assert most[0] == limit
    world.close()


def test_a_killed_run_frees_its_slot(tmp_path: Path) -> None:
    """The next run continues a pipeline whose run was killed; no counter is left behind."""
    world = DocumentWorld(tmp_path)
    world.pipeline("two", "concurrency: 1\nsteps:\n  - parallel: [copy, editor]\n")
    hang = [True]

    def turn(request: Request) -> Turn:
        if hang[0]:
            time.sleep(3)
        return answer(request, 0)

    with FakeLlm(turn) as llm:
        world.asks(llm)
        world.ostler("pipeline", "run", "two", "--later")
        killed = world.start("run", "--all")
        wait_until(lambda: llm.requests, 20, "nothing was requested")
        killed.send_signal(KILL)
        killed.wait(20)
        hang[0] = False
        world.ostler("run", "--all")
    assert [task["status"] for task in world.json("status")["tasks"]] == ["completed"] * 2
    world.close()
