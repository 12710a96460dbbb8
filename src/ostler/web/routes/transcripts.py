"""Places in the transcripts of a task, and what its agent does at the moment."""

from __future__ import annotations

import time
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from ostler.model.ids import TaskId
from ostler.project.artifacts.task_folder import LOGS, find_task_folder
from ostler.project.project import Project
from ostler.views.agent_work.attempt_log import log_path
from ostler.views.agent_work.live_work import LiveWork, view_live_work
from ostler.views.agent_work.transcript import list_transcripts
from ostler.views.log_index.blocks import LogFile, Place
from ostler.views.log_index.search import SearchPage, search_logs
from ostler.views.log_index.steps import StepsPage, list_steps
from ostler.web.live_cost import find_live_model, price_live_tokens
from ostler.web.requests import Position, Query
from ostler.web.route import Empty, RequestParts
from ostler.web.routes.tasks import find_task
from ostler.web.site import Site


class PlaceQuery(Query, frozen=True):
    """Where a page starts: `next` of the page before it."""

    attempt: Position = 0
    offset: Position = 0


class SearchQuery(PlaceQuery, frozen=True, kw_only=True):
    q: Annotated[str, Meta(min_length=2, max_length=200)]
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


def search(site: Site, project: Project, request: RequestParts[SearchQuery, Empty]) -> SearchPage:
    task, query = find_task(project, request.path["task"]), request.query
    place = Place(query.attempt, query.offset)
    return search_logs(task, _logs(project, task), query.q, place, query.limit)


def show_steps(site: Site, project: Project, request: RequestParts[PlaceQuery, Empty]) -> StepsPage:
    task, query = find_task(project, request.path["task"]), request.query
    return list_steps(task, _logs(project, task), Place(query.attempt, query.offset))


def show_live(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> LiveWork:
    task = find_task(project, request.path["task"])
    view = project.show(task)
    budget = project.task_budget(task)
    limit = project.settings.budget.task_usd if budget is None else budget
    lane = site.live.lanes(project.journal).get(task) if view.status == "in_progress" else None
    cost = price_live_tokens(project, lane) if lane else None
    if lane is not None:
        lane = replace(lane, model=find_live_model(project, lane))
    return view_live_work(task, lane, (view.usage, view.cost_usd), limit, cost, time.time())


def _logs(project: Project, task: TaskId) -> tuple[LogFile, ...]:
    folder = find_task_folder(project, task, *LOGS)
    return tuple(LogFile(page.number, log_path(page)) for page in list_transcripts(folder))
