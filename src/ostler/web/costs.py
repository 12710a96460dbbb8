"""What was spent, over HTTP."""

from __future__ import annotations

import time

from msgspec.structs import replace

from ostler.clock import read_time
from ostler.errors import UsageError
from ostler.project.project import Project
from ostler.store.spending import Spending
from ostler.views.cost import CostView, view_budget, view_cost
from ostler.views.cost_series import SeriesView, usual_since, view_series
from ostler.web.requests import CostQuery, SeriesQuery
from ostler.web.route import Asked, Nothing
from ostler.web.site import Site
from ostler.worker.price_list import CHECKED


def show_cost(site: Site, project: Project, asked: Asked[CostQuery, Nothing]) -> CostView:
    since = _time(asked.query.since)
    with Spending(project.layout.database) as spending:
        view = view_cost(spending.ended(since or 0.0), asked.query.by, since)
        budget = view_budget(project.settings.budget, spending.spent_today(time.time()))
    return replace(view, budget=budget, prices_checked=CHECKED.isoformat())


def show_series(site: Site, project: Project, asked: Asked[SeriesQuery, Nothing]) -> SeriesView:
    query, now = asked.query, time.time()
    given = _time(query.since)
    since = usual_since(query.bucket, now) if given is None else given
    with Spending(project.layout.database) as spending:
        return view_series(spending.ended(since), query.by, query.bucket, since, now)


def _time(text: str) -> float | None:
    try:
        return read_time(text) if text else None
    except ValueError:
        raise UsageError(f"since {text[:80]!r} is no time", "write 2026-11-15 or 2026-11-15T18:30Z") from None
