"""A day with 100 tasks: memory, descriptors and disk of `ostler worker` over 24 simulated hours.

Its wall clock is moved on by a quarter of an hour as soon as the tasks that were due are done. What a worker
does without tasks is measured in real time.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
from msgspec import Struct

from growth.curve import Curve, Series
from measure import memory_mb, scratch
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project
from p20_lists import cpu_seconds
from sample import Sample

HOURS, TASKS, STEPS_PER_HOUR = 24, 100, 4
SETTLE_SECONDS, IDLE_SECONDS = 8.0, 60.0
PATIENCE_SECONDS = 120.0
CLOCK = """
import pathlib, time
_true, _jump = time.time, pathlib.Path({path!r})
time.time = lambda: _true() + float(_jump.read_text())
"""


class Sampled(Struct, frozen=True):
    """The state of the worker and its project after a quarter of an hour."""

    tasks: int
    cpu: float
    memory: float
    descriptors: int
    disk: int
    transcripts: int


def measure() -> list[Curve]:
    with scratch() as place:
        sample = Sample(place)
        sample.agent.write_text(sample.agent.read_text().replace("echo hello >", "date +%N >"))
        jump = bend(place)
        add_day(sample)
        environ = sample.environ | {"PYTHONPATH": str(jump.parent)}
        argv = [str(Path(sys.executable).with_name("ostler")), "worker"]
        with subprocess.Popen(argv, cwd=sample.root, env=environ, stdout=subprocess.DEVNULL) as worker:
            try:
                samples = [
                    quarter(sample, jump, worker.pid, number) for number in range(HOURS * STEPS_PER_HOUR)
                ]
                idle = idle_cpu(worker.pid)
            finally:
                worker.terminate()
        busy = psutil.Process().children()
        assert not busy, busy
        server = idle_server(sample)
    note = describe(samples, idle, server)
    print(note, file=sys.stderr)
    every = range(STEPS_PER_HOUR, len(samples) + 1, STEPS_PER_HOUR)
    hourly = [samples[number - 1] for number in every]
    return [
        Curve(
            "day",
            "A day with 100 tasks",
            "hours",
            "MB, count, s",
            tuple(number // STEPS_PER_HOUR for number in every),
            (
                Series("memory, MB", tuple(one.memory for one in hourly)),
                Series("descriptors", tuple(float(one.descriptors) for one in hourly)),
                Series("disk, MB", tuple(one.disk / 1e6 for one in hourly)),
                Series("CPU, s", tuple(one.cpu for one in hourly)),
            ),
            note,
            linear=True,
        )
    ]


def describe(samples: list[Sampled], idle: float, server: float) -> str:
    """What the second half of the day shows, when caches are full."""
    half = samples[len(samples) // 2 :]
    first, last = half[0], half[-1]
    hours = [number / STEPS_PER_HOUR for number in range(len(half))]
    slope = 1000 * statistics.linear_regression(hours, [one.memory for one in half]).slope
    tasks = last.tasks - first.tasks
    disk, said = last.disk - first.disk, last.transcripts - first.transcripts
    assert said > 0, "no transcript was found"
    each = (
        f"{(last.cpu - first.cpu) / tasks:.2f} s of CPU with git and the agent",
        f"{(disk - said) / tasks / 1000:.0f} kB of disk (allocated blocks, branch and commit included)",
        f"{said / tasks / 1000:.0f} kB of transcript files",
    )
    quarters = half[: len(half) // 2], half[len(half) // 2 :]
    usual = [statistics.median(one.descriptors for one in quarter) for quarter in quarters]
    return (
        f"`ostler worker` with {TASKS} tasks, each with one call, one commit and its own branch. In the "
        f"second half of the day: memory {slope:+.0f} kB per hour (at most "
        f"{max(one.memory for one in half):.1f} MB), {usual[0]:.0f}, then {usual[1]:.0f} descriptors "
        f"(medians of six hours; a task at work has more). "
        f"Per task: {', '.join(each)}. Afterwards, without tasks: {idle:.1f} s of CPU per hour for "
        f"`worker`, {server:.1f} s for `serve`."
    )


def bend(place: Path) -> Path:
    """Return the file with the seconds by which the clock of a program is ahead."""
    folder = place / "clock"
    folder.mkdir()
    jump = folder / "jump"
    jump.write_text("0")
    (folder / "sitecustomize.py").write_text(CLOCK.format(path=str(jump)))
    return jump


def add_day(sample: Sample) -> None:
    """Tasks that are due one after another over the day."""
    began = time.time()
    with Project.open(sample.root, sample.environ, create=True) as project:
        for number in range(TASKS):
            due = began + (number + 1) * HOURS * 3600 / TASKS
            id = TaskId(f"task-{number:03d}")
            project.add(Task(f"Task {number}", id=id, weight="trivial", not_before=due))


def quarter(sample: Sample, jump: Path, worker: int, number: int) -> Sampled:
    """Move the clock on, wait until the due tasks are done, and look at the worker."""
    ahead = (number + 1) * 3600 / STEPS_PER_HOUR
    replace(jump, str(ahead))
    due = min(TASKS, int(ahead * TASKS / (HOURS * 3600)))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (done := count_branches(sample.root)) < due:
        assert time.monotonic() < deadline, f"{done} of {due} tasks are done"
        time.sleep(0.1)
    time.sleep(0.5)
    memory, descriptors = look(worker)
    disk, transcripts = used_disk(sample.root)
    return Sampled(done, spent_cpu(worker), memory, descriptors, disk, transcripts)


def look(worker: int) -> tuple[float, int]:
    """Memory in MB and descriptors of the worker and of what it started."""
    memory, descriptors = 0.0, 0
    for process in [psutil.Process(worker), *psutil.Process(worker).children(recursive=True)]:
        with suppress(OSError, psutil.NoSuchProcess):  # a program of git may end at any time
            memory, descriptors = memory + memory_mb(process.pid), descriptors + process.num_fds()
    assert descriptors > 0, "the worker has no descriptors"
    return memory, descriptors


def spent_cpu(worker: int) -> float:
    """CPU seconds of the worker and of all programs that it started, also of those that ended."""
    processes = [psutil.Process(worker), *psutil.Process(worker).children(recursive=True)]
    total = 0.0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])  # user, system, and those of its ended children
    return total


def used_disk(root: Path) -> tuple[int, int]:
    """Allocated bytes of the project, and those of them in transcripts."""
    total = transcripts = 0
    for folder, _, names in os.walk(root):
        for name in names:
            with suppress(FileNotFoundError):  # git renames its files at any time
                size = 512 * os.lstat(os.path.join(folder, name)).st_blocks
                total += size
                transcripts += size * ("transcripts" in Path(folder).parts)
    return total, transcripts


def replace(path: Path, text: str) -> None:
    """The worker never reads an empty file."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def count_branches(root: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(root / ".git/refs/heads/ostler"))


def idle_cpu(pid: int) -> float:
    """CPU seconds per hour of a process and what it started, without tasks."""
    time.sleep(SETTLE_SECONDS)
    before = cpu_seconds(pid)
    time.sleep(IDLE_SECONDS)
    spent = cpu_seconds(pid) - before
    assert spent > 0, "no CPU time was counted"
    return spent * 3600 / IDLE_SECONDS


def idle_server(sample: Sample) -> float:
    argv = (str(Path(sys.executable).with_name("ostler")), "serve", "--port", "0")
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        argv, cwd=sample.root, env=sample.environ, stdin=quiet, stdout=quiet, stderr=quiet
    ) as server:
        try:
            return idle_cpu(server.pid)
        finally:
            server.terminate()
