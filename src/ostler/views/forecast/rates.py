"""How much of a window a dollar or a token of work uses, learned from past attempts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ostler.model.limits.window_change import WindowChange
from ostler.store.queries.past_attempts import PastAttempt
from ostler.views.forecast.needs import LEAST_TASKS, Need

# What happens to a window in a longer gap between attempts is the work of others.
_LONGEST_GAP_SECONDS = 600.0
_LEAST_CHANGE = 0.005  # providers report whole percents; a smaller sum is noise


class Rate(Struct, frozen=True):
    """The share of a window that work uses; by cost where it is known, because models differ in price."""

    per_token: float
    per_usd: float | None = None
    attempts: int = 0  # that it was learned from

    def share_of(self, need: Need) -> float:
        if self.per_usd is not None and need.usd is not None:
            return self.per_usd * need.usd
        return self.per_token * need.tokens


def learn_rates(attempts: Sequence[PastAttempt]) -> dict[tuple[str, str], Rate]:
    """Return the rate of each window, by account and name; windows without enough reports are left out."""
    spans: dict[tuple[str, str], list[_Span]] = {}
    for attempt in sorted(attempts, key=lambda one: one.started_at):
        for change in attempt.windows:
            _add(spans.setdefault((attempt.account, change.name), []), attempt, change)
    rates = {key: _calculate(found) for key, found in spans.items()}
    return {key: rate for key, rate in rates.items() if rate is not None}


class _Span:
    """Attempts that overlap or follow each other: together they explain the change of a window."""

    def __init__(self, attempt: PastAttempt, change: WindowChange) -> None:
        self.change = change
        self.first, self.last = change.first, change.last
        self.ended_at, self.reports, self.attempts = attempt.ended_at, change.reports, 1
        self.need = _need_of(attempt)

    def continues(self, attempt: PastAttempt, change: WindowChange) -> bool:
        is_near = attempt.started_at <= self.ended_at + _LONGEST_GAP_SECONDS
        return is_near and self.change.is_before_reset(change.resets_at)

    def add(self, attempt: PastAttempt, change: WindowChange) -> None:
        self.last = max(self.last, change.last)
        self.ended_at = max(self.ended_at, attempt.ended_at)
        self.reports += change.reports
        self.attempts += 1
        self.need += _need_of(attempt)

    @property
    def share_reported(self) -> float:
        """The share of the work between the first and the last report; the first request came before."""
        return (self.reports - 1) / self.reports


def _need_of(attempt: PastAttempt) -> Need:
    return Need(0.0, attempt.usage.total, attempt.cost_usd)


def _add(spans: list[_Span], attempt: PastAttempt, change: WindowChange) -> None:
    if spans and spans[-1].continues(attempt, change):
        spans[-1].add(attempt, change)
    else:
        spans.append(_Span(attempt, change))


def _calculate(spans: Iterable[_Span]) -> Rate | None:
    measured = [span for span in spans if span.reports > 1]
    change = sum(max(0.0, span.last - span.first) for span in measured)
    attempts = sum(span.attempts for span in measured)
    tokens = sum(span.need.tokens * span.share_reported for span in measured)
    if change < _LEAST_CHANGE or attempts < LEAST_TASKS or not tokens:
        return None
    costs = [(span.need.usd, span.share_reported) for span in measured]
    usd = sum(cost * share for cost, share in costs if cost is not None)
    is_priced = usd > 0 and all(cost is not None for cost, _ in costs)
    return Rate(change / tokens, change / usd if is_priced else None, attempts)
