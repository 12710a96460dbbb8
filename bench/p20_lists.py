"""P20 and P21: lists of 10,000 tasks / of 10, and the CPU of a worker and of a server without work.

Both lists show ten tasks, so that only the number of other tasks differs. Of a command it is the CPU time of
the whole process, of the API the time of a request on loopback.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from growth.seed import add_tasks
from growth.server import serve
from measure import MILLISECONDS, SECONDS, Result, interleave, ratio, scratch, seconds, show, single
from sample import Sample

FEW, MANY = 10, 10_000
STATUS = ("status", "--page", "1", "--limit", str(FEW))
PAGES = {"tasks": "/tasks?limit=10", "inbox": "/inbox?limit=2"}
SETTLE_SECONDS, IDLE_SECONDS, IDLE_ROUNDS, HOUR = 8.0, 10.0, 3, 3600.0


def measure() -> list[Result]:
    with scratch() as place:
        few, many = (fill(place / str(number), number) for number in (FEW, MANY))
        return [*compare_commands(few, many), *compare_api(few, many), *measure_idle(few)]


def fill(place: Path, tasks: int) -> Sample:
    place.mkdir()
    sample = Sample(place, type="command")
    add_tasks(sample.root, sample.environ, tasks)
    return sample


def compare_commands(few: Sample, many: Sample) -> list[Result]:
    rows: list[Result] = []
    for name, arguments in (("ostler status", STATUS), ("ostler status --json", (*STATUS, "--json"))):
        ours, base = interleave(partial(many.cpu, *arguments), partial(few.cpu, *arguments))
        rows.append(ratio("P20", f"{name}, a page, 10,000 tasks / 10", ours, base, "<= 1.2", MILLISECONDS))
    return rows


def compare_api(few: Sample, many: Sample) -> list[Result]:
    rows: list[Result] = []
    with ExitStack() as servers:
        path = {"PYTHONPATH": str(Path(__file__).parent)}
        small, large = (servers.enter_context(serve(one.root, one.environ | path)) for one in (few, many))
        for name, page in PAGES.items():
            small.get(page), large.get(page)
            ours, base = interleave(
                lambda page=page: seconds(lambda: large.get(page)),
                lambda page=page: seconds(lambda: small.get(page)),
                rounds=15,
            )
            rows.append(ratio("P20", f"API, {name}, 10,000 tasks / 10", ours, base, "<= 1.2", MILLISECONDS))
    return rows


def measure_idle(sample: Sample) -> list[Result]:
    rows: list[Result] = []
    (sample.place / "idle").mkdir()
    empty = Sample(sample.place / "idle", type="command")
    for name, arguments in (("worker", ("worker",)), ("serve", ("serve", "--port", "0"))):
        argv = (str(Path(sys.executable).with_name("ostler")), *arguments)
        quiet = subprocess.DEVNULL
        with subprocess.Popen(argv, cwd=empty.root, env=empty.environ, stdout=quiet, stderr=quiet) as idle:
            time.sleep(SETTLE_SECONDS)
            values = [cpu_per_hour(idle.pid) for _ in range(IDLE_ROUNDS)]
            idle.send_signal(signal.SIGINT)
        rows.append(single("P21", f"CPU of an idle {name} per hour", values, "<= 5", SECONDS))
    return rows


def cpu_per_hour(pid: int) -> float:
    before = cpu_seconds(pid)
    time.sleep(IDLE_SECONDS)
    return (cpu_seconds(pid) - before) / IDLE_SECONDS * HOUR


def cpu_seconds(pid: int) -> float:
    """Return what the scheduler has counted for all threads of a process and of its children."""
    total = 0.0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        total += int((thread / "schedstat").read_text().split()[0]) / 1e9
        total += sum(map(cpu_seconds, map(int, (thread / "children").read_text().split())))
    return total


if __name__ == "__main__":
    show(measure())
