"""The route of models and provider limits."""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import Any

from msgspec import Struct

from ostler.calls.models.start_policy import stop_threshold
from ostler.clock import format_rfc3339
from ostler.errors import Code
from ostler.model.limits.limit import Limit, provider_name
from ostler.model.limits.titles import window_title
from ostler.model.task import Task
from ostler.project.agents.model_pool import find_models
from ostler.project.preflight import check_executors
from ostler.project.project import Project
from ostler.store.accounts.sqlite import open_accounts
from ostler.views.limits import view_limits
from ostler.views.models import as_json, view_models
from ostler.web.route import Empty, RequestParts
from ostler.web.site import Site


class LimitView(Struct, frozen=True):
    """A limit that is in effect; after `until` the next call tries again."""

    provider: str
    account: str
    model: str
    window: str
    title: str  # of the window, on screens
    until: str
    code: Code
    message: str


class ModelsView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.models/1"
    models: tuple[dict[str, Any], ...]
    limits: tuple[LimitView, ...]


def list_models(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> ModelsView:
    # All models: no task, role or option restricts them.
    pool = find_models(project, Task("", role=""))
    unusable = check_executors(project, {model.executor for model in pool.models})
    now = time.time()
    with (
        closing(project.store.open_ledger()) as ledger,
        closing(open_accounts(os.environ)) as accounts,
    ):
        limits, cooldowns, windows = accounts.limits(now), ledger.cooldowns(now), accounts.windows(now)
    last_calls = project.store.read_last_calls().by_model
    stop_at = stop_threshold(project.settings.limits)
    known = view_limits(limits, windows, now, models=pool.models, stop_at=stop_at)
    views = view_models(pool, limits, cooldowns, unusable, last_calls, known.accounts)
    models = tuple(as_json(view) for view in views)
    return ModelsView(models=models, limits=tuple(map(_limit, limits)))


def _limit(limit: Limit) -> LimitView:
    window = limit.window
    return LimitView(
        provider_name(window),
        window.account,
        window.model,
        window.window,
        window_title(window.window),
        format_rfc3339(limit.until),
        limit.code,
        limit.message,
    )
