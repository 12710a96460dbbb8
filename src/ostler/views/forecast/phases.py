"""What past tasks needed, by weight and phase."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ostler.model.task import WEIGHTS
from ostler.views.forecast.needs import Need, PastTask, summarize


class PhaseForecast(Struct, frozen=True):
    """The usual need of a phase, and that of nine of ten tasks."""

    weight: str
    phase: str
    tasks: int  # past tasks with this phase
    seconds: float
    seconds_p90: float
    tokens: int
    tokens_p90: int
    cost_usd: float | None  # null: unknown
    cost_p90: float | None


def summarize_phases(past: Sequence[PastTask]) -> tuple[PhaseForecast, ...]:
    """Return each phase of each weight, the lightest first, in the order of the phases."""
    samples: dict[tuple[str, str], list[Need]] = {}
    for task in past:
        for phase, need in task.phases.items():
            samples.setdefault((task.weight, phase), []).append(need)
    ordered = sorted(samples, key=lambda key: [*WEIGHTS].index(key[0]) if key[0] in WEIGHTS else len(WEIGHTS))
    return tuple(_view(*key, samples[key]) for key in ordered)


def _view(weight: str, phase: str, needs: Sequence[Need]) -> PhaseForecast:
    found = summarize(needs)
    usual, late = found.median, found.median + found.margin
    return PhaseForecast(
        weight,
        phase,
        len(needs),
        round(usual.seconds, 1),
        round(late.seconds, 1),
        round(usual.tokens),
        round(late.tokens),
        usual.usd,
        late.usd,
    )
