"""P8: stop 1000 programs, 10 % of them stubborn and 10 % with a daemon / bare kill and wait of 1000 programs.

Before each stop a control checks that the counter finds every program and every daemon.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import time
import uuid
from pathlib import Path

from measure import MILLISECONDS, SECONDS, Result, Unit, interleave, ratio, show, single
from ostler.model.command import Command
from ostler.process.spawner import ChildHandle, StandardSpawner

ROUNDS, COUNT, TOGETHER = 5, 1000, 50
DAEMONS = COUNT // 10
GRACE_SECONDS, PATIENCE_SECONDS = 1.0, 60.0
MARK = f"OSTLER_BENCH_P8={uuid.uuid4().hex}"  # every program and daemon inherits it
SLEEP = "exec sleep 600"
STUBBORN = f"trap '' TERM; {SLEEP}"  # an ignored signal stays ignored after exec
WITH_DAEMON = f'(setsid sh -c "{STUBBORN}" >/dev/null 2>&1 &); {SLEEP}'
SCRIPTS = {0: STUBBORN, 1: WITH_DAEMON}  # by the last digit of the program's number


def measure() -> list[Result]:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16384), hard))
    left: list[float] = []
    with asyncio.Runner() as loop:
        ours, bare = interleave(lambda: loop.run(stop_ours(left)), stop_bare, rounds=ROUNDS)
    what = f"stop {COUNT}, 10 % stubborn, 10 % with daemons"
    return [
        ratio("P8", f"{what} / kill + wait", ours, bare, "<= 3", MILLISECONDS),
        single("P8", "time from the end of the grace to the last exit", ours, "<= 0.2", SECONDS),
        single("P8", f"processes left of {COUNT + DAEMONS}", left, "<= 0", Unit("left"), best=max),
    ]


async def stop_ours(left: list[float]) -> float:
    """Seconds from the end of the grace until all are gone; adds how many are left."""
    spawner = StandardSpawner()
    children: list[ChildHandle] = []
    for first in range(0, COUNT, TOGETHER):
        children += await asyncio.gather(*(start(spawner, first + number) for number in range(TOGETHER)))
    await until_all_sleep()
    began = time.perf_counter()
    await asyncio.gather(*(child.keeper.stop_and_wait(GRACE_SECONDS) for child in children))
    took = time.perf_counter() - began
    left.append(len(marked()))
    for child in children:
        child.close()
    return took - GRACE_SECONDS


async def start(spawner: StandardSpawner, number: int) -> ChildHandle:
    name, _, value = MARK.partition("=")
    script = SCRIPTS.get(number % 10, SLEEP)
    return await spawner.spawn(Command(("sh", "-c", script), "/", {"PATH": os.environ["PATH"], name: value}))


async def until_all_sleep() -> None:
    """The control: wait until the counter finds exactly all programs and daemons, and each one is a sleep."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (names := sorted(marked().values())) != ["sleep"] * (COUNT + DAEMONS):
        assert time.monotonic() < deadline, f"the counter finds {len(names)} of {COUNT + DAEMONS} processes"
        await asyncio.sleep(0.2)


def marked() -> dict[int, str]:
    """The names of the processes that have the mark and have not ended."""
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and MARK.encode() in (entry / "environ").read_bytes():
                found[int(entry.name)] = (entry / "comm").read_text().strip()
        except OSError:
            continue  # it ended in the meantime, or belongs to another user
    return found


def stop_bare() -> float:
    processes = [subprocess.Popen(["sleep", "600"]) for _ in range(COUNT)]
    began = time.perf_counter()
    for process in processes:
        process.send_signal(signal.SIGKILL)
    for process in processes:
        process.wait()
    return time.perf_counter() - began


if __name__ == "__main__":
    show(measure())
