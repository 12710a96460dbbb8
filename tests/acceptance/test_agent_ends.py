"""No orphans (G5): hostile agents, and every way in which their work can end."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil
import pytest

from agent_oracle import PROMISE_SECONDS, check_ended, check_next, check_nothing_lives, hurry
from ostler.testing.fake_agent import read_ledger
from world import INTERRUPT, KILL, World, end, wait_until

FULL = bool(os.environ.get("OSTLER_FULL"))
WORKS_ON: dict[str, Any] = {"delay_seconds": 60}

AGENTS: dict[str, dict[str, Any]] = {
    "a1_hangs": {"fault": "a1_hangs"},
    "a2_ignores_term": {"fault": "a2_ignores_term"},
    "a3_stops_itself": {"fault": "a3_stops_itself"},
    "a4_daemons": {"fault": "a4_daemons", **WORKS_ON},
    "a4_many_daemons": {"fault": "a4_daemons", "count": 100, **WORKS_ON},
    "a5_hops": {"fault": "a5_hops", "count": 3, **WORKS_ON},
    "a7_child_keeps_stdout": {"fault": "a7_child_keeps_stdout", **WORKS_ON},
    "a8_never_reads": {"fault": "a8_never_reads", **WORKS_ON},
    "a9_closes_stdin": {"fault": "a9_closes_stdin", **WORKS_ON},
    "a10_flood": {"fault": "a10_flood", **WORKS_ON},
    "a11_many_lines": {"fault": "a11_many_lines", **WORKS_ON},
    "hangs_after_result": {"fault": "hangs_after_result"},
}


def succeed(world: World, task: str) -> tuple[str, str | None]:
    """The agent gives its result, and its remaining processes are ended."""
    world.ostler("run", task, OSTLER_RUN__TIMEOUT_SECONDS="60", OSTLER_RUN__RESULT_GRACE_SECONDS="0.5")
    return settled(world, task)


def time_out(world: World, task: str) -> tuple[str, str | None]:
    world.ostler(
        "run", task, code=None, OSTLER_RUN__TIMEOUT_SECONDS="3", OSTLER_RUN__RESULT_GRACE_SECONDS="60"
    )
    return settled(world, task)


def cancel(world: World, task: str) -> tuple[str, str | None]:
    run = start(world, task)
    world.ostler("cancel", task)
    assert run.wait(30) == 1
    return settled(world, task)


def kill(world: World, task: str) -> tuple[str, str | None]:
    """kill -9 of the run alone: no process is left that could request a cleanup."""
    end(start(world, task), KILL)
    return settled(world, task)


def interrupt_twice(world: World, task: str) -> tuple[str, str | None]:
    run = start(world, task)
    run.send_signal(INTERRUPT)
    time.sleep(0.1)
    if run.poll() is None:
        run.send_signal(INTERRUPT)
    assert run.wait(30) == 130
    return settled(world, task)


def start(world: World, task: str) -> subprocess.Popen[bytes]:
    """Start the run, and wait until its agent works."""
    run = world.start("run", task, OSTLER_RUN__TIMEOUT_SECONDS="60", OSTLER_RUN__RESULT_GRACE_SECONDS="60")
    wait_until(lambda: _edited(world), 30, "the agent did not start to work")
    return run


def _edited(world: World) -> bool:
    return any(line["event"] == "edit" for line in read_ledger(world.ledger))


def settled(world: World, task: str) -> tuple[str, str | None]:
    """Wait until no process is left; then return the status of the task."""
    began = time.monotonic()
    check_nothing_lives(world)
    assert time.monotonic() - began < 10 * PROMISE_SECONDS
    shown = check_ended(world, task)
    return shown["status"], shown["code"]


INTERRUPTED = ("pending", "INTERRUPTED")
ENDS: dict[str, tuple[Callable[[World, str], tuple[str, str | None]], tuple[str, str | None]]] = {
    "success": (succeed, ("completed", None)),
    "timeout": (time_out, ("failed", "TIMEOUT")),
    "cancel": (cancel, ("cancelled", "ABORTED")),
    "kill -9": (kill, INTERRUPTED),
    "Ctrl-C twice": (interrupt_twice, INTERRUPTED),
}

# A part of the table for quick runs; success and timeout are rows of test_agent_faults.
SAMPLE = [
    (agent, ending)
    for agent in ("a2_ignores_term", "a3_stops_itself", "a4_daemons", "a5_hops", "a7_child_keeps_stdout")
    for ending in ("cancel", "kill -9", "Ctrl-C twice")
]
NEVER_ANSWER = ("a1_hangs", "a2_ignores_term", "a3_stops_itself")
TABLE = [(a, e) for a in AGENTS for e in ENDS if e != "success" or a not in NEVER_ANSWER]


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(("agent", "ending"), TABLE if FULL else SAMPLE)
def test_nothing_is_left_of_a_hostile_agent(world: World, agent: str, ending: str) -> None:
    """For any agent and any end: the right status, no process, and the next task runs."""
    hurry(world, retries=0)
    ends, expected = ENDS[ending]
    world.behave(**AGENTS[agent] | ({"delay_seconds": 0} if ending == "success" else {}))
    if (agent, ending) == ("hangs_after_result", "timeout"):
        expected = ("completed", None)  # its result counts
    task = world.new()
    assert ends(world, task) == expected
    check_next(world)


def test_a_killed_run_and_its_whole_tree_leave_nothing_for_the_next_one(world: World) -> None:
    """The run, its forker and its keepers are killed at once: the next run ends their processes first."""
    hurry(world, retries=0)
    world.behave(plan=[{"fault": "a2_ignores_term"}, {}])
    task = world.new()
    run = start(world, task)
    keepers = [
        child for child in psutil.Process(run.pid).children(recursive=True) if "keeper.forker" in _line(child)
    ]
    assert keepers
    for process in (psutil.Process(run.pid), *keepers):
        with suppress(psutil.NoSuchProcess):  # an idle keeper ends with its forker
            process.kill()
    run.wait(30)
    world.ostler("run", "--all", OSTLER_RUN__TIMEOUT_SECONDS="60")
    shown = check_ended(world, task, 0)
    assert [attempt["status"] for attempt in shown["attempts"]] == ["interrupted", "succeeded"]


def _line(process: psutil.Process) -> str:
    return " ".join(process.cmdline())
