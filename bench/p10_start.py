"""P10: instructions of the program and its children until its first useful act / `python -c pass`."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import NamedTuple

from measure import MILLIONS, MILLISECONDS, Result, interleave, ratio, scratch, show
from sample import Sample

OSTLER = (sys.executable, str(Path(sys.executable).with_name("ostler")))
NO_OP = (sys.executable, "-c", "pass")
TO_FIRST_SPAWN = {"OSTLER_FAILPOINT": "attempt.begun:exit:1"}
COUNT_ROUNDS, CPU_ROUNDS, PATIENCE_SECONDS = 3, 15, 120  # instruction counts hardly differ between rounds


class Start(NamedTuple):
    name: str
    arguments: tuple[str, ...]
    target: str
    environ: dict[str, str]


STARTS = (
    Start("ostler --help", ("--help",), "<= 5.5", {}),
    Start("ostler status, 4 tasks", ("status",), "<= 8", {}),
    Start("ostler run to the first spawn", ("run", "-p", "Say hello"), "<= 12", TO_FIRST_SPAWN),
)


def measure() -> list[Result]:
    """By instructions; by user CPU time where valgrind, a Debian package, is missing."""
    by_count = shutil.which("valgrind") is not None
    if not by_count:
        print(
            "P10: valgrind is missing (apt-get install valgrind); CPU time is used instead", file=sys.stderr
        )
    with scratch() as place:
        sample = Sample(place, type="command")
        for number in range(4):
            sample.ostler("new", f"Task number {number}")
        if by_count:
            check_children_are_counted(sample)
        compare = compare_instructions if by_count else compare_cpu
        return [compare(start, sample) for start in STARTS]


def compare_instructions(start: Start, sample: Sample) -> Result:
    spend((*OSTLER, *start.arguments), sample, start.environ)  # so that everything is compiled
    ours, bare = interleave(
        lambda: count((*OSTLER, *start.arguments), sample, start.environ),
        lambda: count(NO_OP, sample),
        rounds=COUNT_ROUNDS,
    )
    return ratio("P10", f"{start.name} / python -c pass", ours, bare, start.target, MILLIONS)


def compare_cpu(start: Start, sample: Sample) -> Result:
    ours, bare = interleave(
        lambda: spend((*OSTLER, *start.arguments), sample, start.environ),
        lambda: spend(NO_OP, sample),
        rounds=CPU_ROUNDS,
    )
    name = f"{start.name} / python -c pass (CPU time)"
    return ratio("P10", name, ours, bare, start.target, MILLISECONDS)


def count(argv: tuple[str, ...], sample: Sample, environ: dict[str, str] | None = None) -> float:
    """Instructions of the program and of every process that it starts."""
    logs = sample.place / "valgrind"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    valgrind = (
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=no",
        "--trace-children=yes",
        f"--cachegrind-out-file={os.devnull}",
        f"--log-file={logs}/%p",
    )
    sample.run((*valgrind, *argv), {"PYTHONHASHSEED": "0", **(environ or {})})
    wait_for_processes(logs)
    return float(sum(instructions(log) for log in logs.iterdir()))


def wait_for_processes(logs: Path) -> None:
    """Wait for what the program left running; valgrind writes the count of a process when it ends."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while alive := [log.name for log in logs.iterdir() if Path("/proc", log.name).exists()]:
        assert time.monotonic() < deadline, f"processes {', '.join(alive)} do not end"
        time.sleep(0.1)


def instructions(log: Path) -> int:
    """The count of one process; 0 for a fork without exec, whose count would repeat that of its parent."""
    text = log.read_text()
    parent = log.with_name(re.findall(r"Parent PID: (\d+)", text)[-1])
    if parent.exists() and command_of(parent.read_text()) == command_of(text):
        return 0
    counts = re.findall(r"refs: +([\d,]+)", text)
    return int(counts[-1].replace(",", "")) if counts else 0  # none: it was killed


def command_of(log: str) -> str:
    return re.findall(r"Command: (.*)", log)[-1]


def check_children_are_counted(sample: Sample) -> None:
    """Check that a program that starts `python -c pass` has twice the count of `python -c pass` alone."""
    starts_one = f"import subprocess, sys; subprocess.run({list(NO_OP)!r})"
    alone, both = count(NO_OP, sample), count((sys.executable, "-c", starts_one), sample)
    assert both > 2 * alone, f"{both:.0f} instructions with a child, {alone:.0f} without"


def spend(argv: tuple[str, ...], sample: Sample, environ: dict[str, str] | None = None) -> float:
    """User CPU time of the program and of the children that it waited for."""
    return sample.run(argv, environ or {}).ru_utime


if __name__ == "__main__":
    show(measure())
