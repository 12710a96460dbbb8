"""Models and the windows that providers have closed, over HTTP."""

from __future__ import annotations

import time
from typing import Any

from msgspec import Struct

from ostler.clock import rfc3339
from ostler.errors import Code
from ostler.model.limit import Limit
from ostler.model.task import Task
from ostler.project.pool import pool_for
from ostler.project.preflight import refusals
from ostler.project.project import Project
from ostler.store.sqlite_ledger import SqliteLedger
from ostler.views.models import as_json, view_models
from ostler.web.route import Asked, Nothing
from ostler.web.site import Site


class LimitView(Struct, frozen=True):
    """A window that is closed; past `until` the next call tries it."""

    provider: str
    account: str
    model: str
    window: str
    until: str
    code: Code
    message: str


class ModelsView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.models/1"
    models: tuple[dict[str, Any], ...]
    limits: tuple[LimitView, ...]


def list_models(site: Site, project: Project, asked: Asked[Nothing, Nothing]) -> ModelsView:
    pool = pool_for(Task("", role=""), project.loaded)  # all: no task, role or flag narrows it down
    refused = refusals(project, {choice.executor for choice in pool.choices})
    now, ledger = time.time(), SqliteLedger(project.layout.database)
    try:
        limits, rests = ledger.limits(now), ledger.rests(now)
    finally:
        ledger.close()
    models = tuple(as_json(view) for view in view_models(pool, limits, rests, refused))
    return ModelsView(models=models, limits=tuple(map(_limit, limits)))


def _limit(limit: Limit) -> LimitView:
    window = limit.window
    return LimitView(
        window.provider,
        window.account,
        window.model,
        window.window,
        rfc3339(limit.until),
        limit.code,
        limit.message,
    )
