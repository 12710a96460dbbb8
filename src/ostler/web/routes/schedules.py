"""The routes of schedules."""

from __future__ import annotations

import time
from typing import Literal

from msgspec import Struct

from ostler.project.project import Project
from ostler.project.running.scheduled_runs import find_schedule, list_schedules, start_now
from ostler.views.lists.schedules import SchedulesView
from ostler.web.requests import Body, Line
from ostler.web.responses import RequestError
from ostler.web.route import Empty, RequestParts
from ostler.web.site import Site


class StartSchedule(Body, frozen=True):
    kind: Literal["task", "pipeline"]
    name: Line


class StartedView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.started/1"
    tasks: tuple[str, ...]


def show_schedules(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> SchedulesView:
    return list_schedules(project, time.time())


def start_schedule(site: Site, project: Project, request: RequestParts[Empty, StartSchedule]) -> StartedView:
    """Start a schedule now; 409 if it was started in this minute."""
    wanted = request.body
    scheduled = find_schedule(project, wanted.kind, wanted.name)
    if scheduled is None:
        raise RequestError(
            404, f"no {wanted.kind} {wanted.name} with a schedule", "GET /api/v1/schedules lists them"
        )
    tasks = start_now(project, scheduled, time.time())
    if not tasks:
        raise RequestError(409, f"{wanted.name} was started in this minute", "try it again in a minute")
    return StartedView(tasks=tuple(tasks))
