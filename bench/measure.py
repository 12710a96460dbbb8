"""Shared by all benchmarks: results with their spread, interleaved rounds, memory and scratch directories."""

from __future__ import annotations

import operator
import os
import resource
import shutil
import statistics
import tempfile
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from msgspec import Struct

ROUNDS = 9
TMPFS = Path("/dev/shm")
_COMPARISONS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge}

Best = Callable[[Sequence[float]], float]
"""Chooses the value of a series that is compared: min for a time, max for a rate, memory or a count."""


class Unit(NamedTuple):
    """How a measured value is printed."""

    name: str
    scale: float = 1.0  # measured value * scale = printed value


MILLISECONDS, MICROSECONDS, SECONDS = Unit("ms", 1e3), Unit("us", 1e6), Unit("s")
PER_SECOND, MEGABYTES, MILLIONS = Unit("/s"), Unit("MB"), Unit("M", 1e-6)


class Result(Struct, frozen=True):
    """One figure next to its target."""

    goal: str  # P1, P2, ... of the performance goals
    name: str
    figure: float | None  # None: not measured
    target: str  # "<= 4", in the unit of the figure
    unit: str = ""  # empty: a ratio, ours / baseline
    ours: str = ""  # min / median / max
    baseline: str = ""  # min / median / max
    reason: str = ""  # why it was not measured

    @property
    def met(self) -> bool:
        comparison, bound = self.target.split()
        return self.figure is not None and _COMPARISONS[comparison](self.figure, float(bound))

    @property
    def verdict(self) -> str:
        if self.figure is None:
            return "-"
        return "yes" if self.met else "**no**"

    @property
    def shown(self) -> str:
        if self.figure is None:
            return f"not measured: {self.reason}"
        return f"{self.figure:.4g} {self.unit}".rstrip()

    @property
    def line(self) -> str:
        verdict = {"yes": "met", "-": "-"}.get(self.verdict, "MISSED")
        spread = f"{self.ours} | {self.baseline}" if self.baseline else self.ours
        judged = f"{self.shown:>12}  {self.target:>8}  {verdict:<6}"
        return f"{self.goal:<4} {self.name:<58} {judged}  {spread}".rstrip()


def ratio(
    goal: str,
    name: str,
    ours: Sequence[float],
    baseline: Sequence[float],
    target: str,
    unit: Unit,
    best: Best = min,
) -> Result:
    """Our best value divided by the best value of the baseline, with the spread of both."""
    figure = best(ours) / best(baseline)
    return Result(goal, name, figure, target, ours=spread(ours, unit), baseline=spread(baseline, unit))


def single(
    goal: str, name: str, values: Sequence[float], target: str, unit: Unit, best: Best = min
) -> Result:
    """A figure without a baseline, with its spread."""
    figure = best(values) * unit.scale
    return Result(goal, name, figure, target, unit.name, ours=spread(values, unit))


def not_measured(goal: str, name: str, target: str, reason: str) -> Result:
    """A row that could not be measured here."""
    return Result(goal, name, None, target, reason=reason)


def spread(values: Sequence[float], unit: Unit) -> str:
    """Return the minimum, the median and the maximum as text."""
    points = (min(values), statistics.median(values), max(values))
    return f"{' / '.join(f'{point * unit.scale:.3g}' for point in points)} {unit.name}"


def show(results: Iterable[Result]) -> None:
    """Print one aligned line for each result."""
    for result in results:
        print(result.line, flush=True)


def interleave(*subjects: Callable[[], float], rounds: int = ROUNDS) -> tuple[list[float], ...]:
    """Return the values of each subject; all take turns, so that a busy moment affects them alike."""
    values = [[subject() for subject in subjects] for _ in range(rounds)]
    return tuple(list(column) for column in zip(*values, strict=True))


def seconds(work: Callable[[], object]) -> float:
    """Return how long the work takes."""
    began = perf_counter()
    work()
    return perf_counter() - began


def memory_mb(pid: int | None = None) -> float:
    """Return the proportional memory (PSS) of a process."""
    for line in Path(f"/proc/{pid or 'self'}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"the kernel reports no PSS of process {pid or 'self'}")


def peak_mb() -> float:
    """Return the largest resident memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def scratch() -> Generator[Path]:
    """A new directory on disk, deleted at the end; OSTLER_BENCH_DIR chooses the disk."""
    with tempfile.TemporaryDirectory(prefix="ostler-bench-", dir=os.environ.get("OSTLER_BENCH_DIR")) as name:
        yield Path(name)


@contextmanager
def scratch_in_memory(gigabytes: int) -> Generator[Path]:
    """A new directory on tmpfs, or on disk when tmpfs is missing or has less free space than this."""
    fits = TMPFS.is_dir() and shutil.disk_usage(TMPFS).free > gigabytes << 30
    if not fits:
        with scratch() as place:
            yield place
        return
    with tempfile.TemporaryDirectory(prefix="ostler-bench-", dir=TMPFS) as name:
        yield Path(name)
