"""P10: instructions from the start of the program to its first useful act, against `python -c pass`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from measure import Result, minima, ratio, scratch, show
from sample import Sample

OSTLER = (sys.executable, str(Path(sys.executable).with_name("ostler")))
NO_OP = (sys.executable, "-c", "pass")
TO_FIRST_SPAWN = {"OSTLER_FAILPOINT": "attempt.begun:exit:1"}
CPU_ROUNDS = 15


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
        print("P10: valgrind is missing (apt-get install valgrind); user CPU time stands in", file=sys.stderr)
    with scratch() as place:
        sample = Sample(place, type="command")
        for number in range(4):
            sample.ostler("new", f"Task number {number}")
        compare = compare_instructions if by_count else compare_cpu
        return [compare(start, sample) for start in STARTS]


def compare_instructions(start: Start, sample: Sample) -> Result:
    spend((*OSTLER, *start.arguments), sample, start.environ)  # so that everything is compiled
    ours = count((*OSTLER, *start.arguments), sample, start.environ)
    return ratio("P10", f"{start.name} / python -c pass", ours, count(NO_OP, sample), start.target, millions)


def compare_cpu(start: Start, sample: Sample) -> Result:
    ours, bare = minima(
        lambda: spend((*OSTLER, *start.arguments), sample, start.environ),
        lambda: spend(NO_OP, sample),
        rounds=CPU_ROUNDS,
    )
    name = f"{start.name} / python -c pass (CPU time)"
    return ratio("P10", name, ours, bare, start.target, lambda spent: f"{spent * 1e3:.1f} ms")


def count(argv: tuple[str, ...], sample: Sample, environ: dict[str, str] | None = None) -> float:
    """Instructions of the program itself; what it starts is not counted."""
    log = sample.place / "valgrind.log"
    log.unlink(missing_ok=True)
    valgrind = (
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=no",
        f"--cachegrind-out-file={os.devnull}",
        f"--log-file={log}",
    )
    sample.run((*valgrind, *argv), {"PYTHONHASHSEED": "0", **(environ or {})})
    told = [line for line in log.read_text().splitlines() if "refs:" in line]
    return float(told[-1].rpartition(":")[2].replace(",", ""))


def spend(argv: tuple[str, ...], sample: Sample, environ: dict[str, str] | None = None) -> float:
    """User CPU time of the program and what it waited for."""
    return sample.run(argv, environ or {}).ru_utime


def millions(instructions: float) -> str:
    return f"{instructions / 1e6:.1f} M"


if __name__ == "__main__":
    show(measure())
