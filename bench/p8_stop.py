"""P8: stop 1000 programs, a tenth of them stubborn and a tenth with a daemon, against bare kill and wait."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import time
import uuid

import psutil

from measure import Result, milliseconds, ratio, show
from ostler.model.command import Command
from ostler.process.spawner import Child, StandardSpawner

COUNT = 1000
GRACE_SECONDS = 1.0
TOKEN = f"p8-{uuid.uuid4().hex}"
PLAIN = "exec sleep 600"
SCRIPTS = {
    0: f"trap '' TERM; {PLAIN}",
    1: f"(setsid sh -c 'trap \"\" TERM; exec sleep 600 {TOKEN}' >/dev/null 2>&1 &); {PLAIN}",
}


def program(number: int) -> tuple[str, ...]:
    script = SCRIPTS.get(number % 10, PLAIN)
    return ("sh", "-c", script, TOKEN)


async def start(spawner: StandardSpawner, number: int) -> Child:
    return await spawner.spawn(Command(program(number), "/", {"PATH": os.environ["PATH"]}))


def left() -> int:
    return sum(
        TOKEN in " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])
    )


async def ours() -> tuple[float, int]:
    spawner = StandardSpawner()
    children: list[Child] = []
    for first in range(0, COUNT, 50):
        children += await asyncio.gather(*(start(spawner, first + number) for number in range(50)))
    await asyncio.sleep(2)
    began = time.perf_counter()
    await asyncio.gather(*(child.keeper.end(GRACE_SECONDS) for child in children))
    took = time.perf_counter() - began
    alive = left()
    for child in children:
        child.close()
    return took, alive


def bare() -> float:
    processes = [subprocess.Popen(["sleep", "600"]) for _ in range(COUNT)]
    began = time.perf_counter()
    for process in processes:
        process.send_signal(signal.SIGKILL)
    for process in processes:
        process.wait()
    return time.perf_counter() - began


def measure() -> list[Result]:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16384), hard))
    theirs = bare()
    took, alive = asyncio.run(ours())
    beyond = took - GRACE_SECONDS
    what = f"stop {COUNT}, 10 % stubborn, 10 % with daemons"
    return [
        ratio("P8", f"{what} / kill + wait", beyond, theirs, "<= 5", milliseconds),
        Result("P8", "how long after the grace the last one is gone", beyond, "<= 0.2", "s"),
        Result("P8", "processes left", alive, "<= 0", "left"),
    ]


if __name__ == "__main__":
    show(measure())
