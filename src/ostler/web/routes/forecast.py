"""The route of the forecast."""

from __future__ import annotations

import time

from ostler.project.project import Project
from ostler.project.running.active_runs import list_active_runs
from ostler.project.tasks.forecast import forecast_queue
from ostler.views.forecast.forecast import Forecast
from ostler.web.route import Empty, RequestParts
from ostler.web.site import Site


def show_forecast(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> Forecast:
    is_active = bool(list_active_runs(project.layout))
    found = forecast_queue(project, site.environ, time.time(), is_active=is_active)
    return found or Forecast(tasks_waiting=0, is_known=False)
