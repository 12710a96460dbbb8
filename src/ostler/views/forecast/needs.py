"""What past tasks needed in each phase, and what a task with these phases will need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import hypot, sqrt

from msgspec import Struct

from ostler.store.queries.past_attempts import History, PastAttempt

LEAST_TASKS = 3  # past tasks for an estimate
# A longer gap between two attempts of a task is a wait for a person or a limit, not a gate.
_LONGEST_GATE_SECONDS = 600.0
_P90 = 0.9


class Need(Struct, frozen=True):
    """What a task uses."""

    seconds: float = 0.0
    tokens: float = 0.0
    usd: float | None = 0.0  # None: unknown

    def __add__(self, other: Need) -> Need:
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Need(self.seconds + other.seconds, self.tokens + other.tokens, usd)


class Estimate(Struct, frozen=True):
    """The usual need, and what has to be added so that it is enough in nine of ten cases."""

    median: Need = Need()
    margin: Need = Need()
    tasks: int = 0  # past tasks that it is based on

    def __add__(self, other: Estimate) -> Estimate:
        # Independent tasks do not all take long: their margins add up like standard deviations.
        return Estimate(
            self.median + other.median,
            Need(
                hypot(self.margin.seconds, other.margin.seconds),
                hypot(self.margin.tokens, other.margin.tokens),
                hypot(self.margin.usd or 0.0, other.margin.usd or 0.0),
            ),
            max(self.tasks, other.tasks),
        )

    def times(self, number: int) -> Estimate:
        """Return the need of so many tasks."""
        usd = None if self.median.usd is None else self.median.usd * number
        more, margin = sqrt(number), self.margin
        return Estimate(
            Need(self.median.seconds * number, self.median.tokens * number, usd),
            Need(margin.seconds * more, margin.tokens * more, (margin.usd or 0.0) * more),
            self.tasks,
        )


class PastTask(Struct, frozen=True):
    """What one completed task needed in each of its phases."""

    weight: str
    phases: dict[str, Need]


def list_past_tasks(history: History) -> list[PastTask]:
    """Return the completed tasks of the history with what they needed."""
    attempts: dict[str, list[PastAttempt]] = {}
    for attempt in history.attempts:
        attempts.setdefault(attempt.task, []).append(attempt)
    return [
        PastTask(task.weight, _sum_phases(attempts[name], task.ended_at))
        for name, task in history.completed.items()
    ]


def _sum_phases(attempts: Sequence[PastAttempt], ended_at: float) -> dict[str, Need]:
    ordered = sorted(attempts, key=lambda one: one.number)
    starts = [*(one.started_at for one in ordered), ended_at]
    phases: dict[str, Need] = {}
    for attempt, (_, following) in zip(ordered, pairwise(starts), strict=True):
        gap = following - attempt.ended_at
        gate_seconds = gap if 0 < gap <= _LONGEST_GATE_SECONDS else 0.0
        need = Need((attempt.duration_ms or 0) / 1000 + gate_seconds, attempt.usage.total, attempt.cost_usd)
        phases[attempt.phase] = phases[attempt.phase] + need if attempt.phase in phases else need
    return phases


class Estimator:
    """Estimates tasks from past tasks: of the same weight if there are enough, else of all weights."""

    def __init__(self, past: Sequence[PastTask]) -> None:
        self.past = [task for task in past if task.phases]
        self._known: dict[tuple[str, tuple[str, ...]], Estimate | None] = {}

    @property
    def tasks(self) -> int:
        """The number of past tasks."""
        return len(self.past)

    def count_basis(self, weights: Iterable[str]) -> int:
        """Return the number of past tasks that the estimates of these weights are based on."""
        counts = [sum(task.weight == weight for task in self.past) for weight in set(weights)]
        return sum(counts) if min(counts, default=0) >= LEAST_TASKS else self.tasks

    def estimate(self, weight: str, phases: tuple[str, ...]) -> Estimate | None:
        """Return the need of a task with these phases left; None when there are too few past tasks."""
        key = weight, phases
        if key not in self._known:
            self._known[key] = self._estimate(weight, phases)
        return self._known[key]

    def _estimate(self, weight: str, phases: tuple[str, ...]) -> Estimate | None:
        same = [task for task in self.past if task.weight == weight]
        chosen = same if len(same) >= LEAST_TASKS else self.past
        if len(chosen) < LEAST_TASKS:
            return None
        total = Estimate(tasks=len(chosen))
        for phase in phases:
            total += summarize(self._find_samples(chosen, phase))
        return total

    def _find_samples(self, chosen: Sequence[PastTask], phase: str) -> list[Need]:
        """Return the needs of a phase; of all phases when it is new."""
        for tasks in (chosen, self.past):
            samples = [task.phases[phase] for task in tasks if phase in task.phases]
            if len(samples) >= LEAST_TASKS:
                return samples
        return [need for task in chosen for need in task.phases.values()]


def summarize(samples: Sequence[Need]) -> Estimate:
    """Return the median and the 90th percentile of each value; the cost is unknown for too few samples."""
    priced = [need.usd for need in samples if need.usd is not None]
    seconds, more_seconds = _measure(need.seconds for need in samples)
    tokens, more_tokens = _measure(need.tokens for need in samples)
    if len(priced) < LEAST_TASKS:
        return Estimate(Need(seconds, tokens, None), Need(more_seconds, more_tokens))
    usd, more_usd = _measure(priced)
    return Estimate(Need(seconds, tokens, usd), Need(more_seconds, more_tokens, more_usd))


def _measure(values: Iterable[float]) -> tuple[float, float]:
    """Return the median, and the distance from it to the 90th percentile."""
    ordered = sorted(values)
    median = _quantile(ordered, 0.5)
    return median, _quantile(ordered, _P90) - median


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
