"""What is measured of each system: times, memory, and what becomes of its agents."""

from __future__ import annotations

import os
import resource
import signal
import time
from contextlib import suppress

from msgspec import Struct

from peers.agent import SLEEP
from peers.isolation import agents, command_line, end_all, memory_of_system, reap, started
from peers.project import PATIENCE_SECONDS, Project, project, wait_for_agent, wait_until
from peers.systems import System

HANG_SECONDS, RESTART_SECONDS, SETTLE_SECONDS = 45.0, 20.0, 4.0
RESTART_STARTS = 3.0  # it has this many times the time of its first start


class Finished(Struct, frozen=True):
    """A task that was completed."""

    seconds: float
    cpu: float  # seconds of everything that the system started, the agent included
    calls: int


class Survival(Struct, frozen=True):
    """Agents that run after `kill -9` of the orchestrator, and after its next start."""

    after_kill: int
    after_restart: int


def run_task(system: System, calls: int) -> Finished:
    """Run one task to its end: until the command has ended and the task is completed."""
    with project(system, calls=calls) as one:
        began, used = time.perf_counter(), cpu_of_ended()
        process = one.start_task()
        wait_until(lambda: process.poll() is not None, PATIENCE_SECONDS, one)
        wait_until(lambda: one.finished, PATIENCE_SECONDS if system.daemon else 1.0, one)
        took = time.perf_counter() - began
        end_all()
        return Finished(took, cpu_of_ended() - used, one.agent_calls)


def cpu_of_ended() -> float:
    """CPU seconds of all processes below this one that have ended; orphans come below it too."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def start_up(system: System) -> float:
    with project(system) as one:
        began = time.perf_counter()
        code = one.start(system.start).wait(timeout=PATIENCE_SECONDS)
        took = time.perf_counter() - began
        assert code == 0, one.output
        return took


def memory(system: System) -> float:
    """Memory of everything but the agent, while the agent works."""
    with project(system, "sleep") as one:
        one.start_task()
        wait_for_agent(one)
        time.sleep(SETTLE_SECONDS)
        return memory_of_system(one.agent)


def leaves_daemon(system: System) -> bool:
    """Whether a daemon that the agent started runs after the task."""
    with project(system, "daemon") as one:
        process = one.start_task()
        wait_until(lambda: daemons(one) == 1, PATIENCE_SECONDS, one)  # the counter sees it at first
        with suppress(TimeoutError):  # what counts is what is left then
            wait_until(lambda: process.poll() is not None and one.finished, HANG_SECONDS, one)
        time.sleep(SETTLE_SECONDS)
        return daemons(one) > 0


def daemons(one: Project) -> int:
    return sum(command_line(process) == SLEEP.split() for process in agents(one.agent))


def survival(system: System) -> Survival:
    """Kill the orchestrator while an agent edits a file, and start it again."""
    with project(system, "edit") as one:
        began = time.monotonic()
        process = one.start_task()
        wait_for_agent(one)
        patience = max(RESTART_SECONDS, RESTART_STARTS * (time.monotonic() - began))
        victims = orchestrators(system, process.pid)
        assert victims, "the orchestrator was not found"
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        time.sleep(SETTLE_SECONDS)
        reap()
        left = len(agents(one.agent))
        one.start(system.again or system.command(1))
        most = left
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and most <= left:
            most = max(most, len(agents(one.agent)))
            time.sleep(0.1)
        return Survival(left, most)


def orchestrators(system: System, pid: int) -> list[int]:
    if not system.daemon:
        return [pid]
    return [one.pid for one in started() if any(system.daemon in word for word in command_line(one))]


def hang(system: System) -> str:
    """What becomes of a task whose agent prints its result and does not end."""
    with project(system, "hang") as one:
        began = time.perf_counter()
        process = one.start_task()
        wait_for_agent(one)
        try:
            wait_until(lambda: process.poll() is not None and one.finished, HANG_SECONDS, one)
        except TimeoutError:
            ended = "the command ended" if process.poll() is not None else "the run hangs"
            result = "the result was used" if one.finished else "the result is not used"
            return f"{ended}, {result} after {HANG_SECONDS:.0f} s"
        took = time.perf_counter() - began
        time.sleep(SETTLE_SECONDS)
        agent = "runs on" if agents(one.agent) else "is stopped"
        return f"the result is used after {took:.1f} s, the agent {agent}"
