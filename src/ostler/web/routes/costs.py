"""The routes of the cost."""

from __future__ import annotations

import time

from msgspec.structs import replace

from ostler.calls.spending.prices import PRICES_CHECKED
from ostler.clock import read_time
from ostler.errors import UsageError
from ostler.project.project import Project
from ostler.views.cost.series import SeriesView, default_since, view_series
from ostler.views.cost.summary import CostView, view_budget, view_cost
from ostler.web.requests import CostQuery, SeriesQuery
from ostler.web.route import Empty, RequestParts
from ostler.web.site import Site


def show_cost(site: Site, project: Project, request: RequestParts[CostQuery, Empty]) -> CostView:
    since = _time(request.query.since)
    with project.store.open_spending() as spending:
        view = view_cost(spending.ended(since or 0.0), request.query.by, since)
        budget = view_budget(project.settings.budget, spending.spent_today(time.time()))
    return replace(view, budget=budget, prices_checked=PRICES_CHECKED.isoformat())


def show_series(site: Site, project: Project, request: RequestParts[SeriesQuery, Empty]) -> SeriesView:
    query, now = request.query, time.time()
    requested = _time(query.since)
    since = default_since(query.bucket, now) if requested is None else requested
    with project.store.open_spending() as spending:
        return view_series(spending.ended(since), query.by, query.bucket, since, now)


def _time(text: str) -> float | None:
    try:
        return read_time(text) if text else None
    except ValueError:
        raise UsageError(
            f"invalid since {text[:80]!r}: expected a time such as 2026-11-15 or 2026-11-15T18:30Z",
            "leave it out for the default",
        ) from None
