"""What every benchmark shares: a result, its one line, and how subject and baseline are compared."""

from __future__ import annotations

import operator
import os
import resource
import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from msgspec import Struct

ROUNDS = 9
_SIGNS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge}


class Result(Struct, frozen=True):
    """One figure beside its target."""

    goal: str  # P1, P2, ... of the performance goals
    name: str
    figure: float
    target: str  # "<= 4"; in the figure's unit
    unit: str = "x"  # x: a ratio, ours / baseline
    ours: str = ""
    baseline: str = ""

    @property
    def met(self) -> bool:
        sign, bound = self.target.split()
        return _SIGNS[sign](self.figure, float(bound))

    @property
    def shown(self) -> str:
        return f"{self.figure:.4g}" + (f" {self.unit}" if self.unit != "x" else "")

    @property
    def line(self) -> str:
        verdict = "met" if self.met else "MISSED"
        detail = f"{self.ours} / {self.baseline}" if self.baseline else self.ours
        judged = f"{self.shown:>12}  {self.target:>8}  {verdict:<6}"
        return f"{self.goal:<4} {self.name:<58} {judged}  {detail}".rstrip()


def ratio(
    goal: str, name: str, ours: float, baseline: float, target: str, say: Callable[[float], str]
) -> Result:
    """Ours over the baseline, both told by `say`."""
    return Result(goal, name, ours / baseline, target, ours=say(ours), baseline=say(baseline))


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def per_second(rate: float) -> str:
    return f"{rate:.0f}/s"


def show(results: Iterable[Result]) -> None:
    """One aligned line each."""
    for result in results:
        print(result.line, flush=True)


def minima(*subjects: Callable[[], float], rounds: int = ROUNDS) -> tuple[float, ...]:
    """The smallest value of each subject, all of them asked in turn so that a busy moment hits them alike."""
    told = [[subject() for subject in subjects] for _ in range(rounds)]
    return tuple(min(column) for column in zip(*told, strict=True))


def interleave(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int = ROUNDS
) -> tuple[float, float]:
    """The shortest time of each, in seconds."""
    us, them = minima(lambda: seconds(ours), lambda: seconds(theirs), rounds=rounds)
    return us, them


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    began = perf_counter()
    work()
    return perf_counter() - began


def memory_mb(pid: int | None = None) -> float:
    """The memory that a process has to itself, and its share of what it shares (PSS)."""
    for line in Path(f"/proc/{pid or 'self'}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def peak_mb() -> float:
    """The most memory that this process ever had in use."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def scratch() -> Generator[Path]:
    """A directory of one's own; OSTLER_BENCH_DIR says on which disk."""
    with tempfile.TemporaryDirectory(prefix="ostler-bench-", dir=os.environ.get("OSTLER_BENCH_DIR")) as name:
        yield Path(name)
