"""The API's table of routes, and the application that serves the API and the pages."""

from __future__ import annotations

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp

from ostler.web import session
from ostler.web.guard import Guard
from ostler.web.openapi import make_openapi
from ostler.web.pages import page_routes
from ostler.web.responses import RequestError, error_response, page_response
from ostler.web.route import Route, starlette_route
from ostler.web.routes import (
    actions,
    artifacts,
    costs,
    events,
    limits,
    machine,
    models,
    pipelines,
    preflight,
    tasks,
)
from ostler.web.routes.actions import action_routes
from ostler.web.site import Site


def make_application(site: Site, port: int) -> ASGIApp:
    """Return the application: pages and API, protected by the guard."""
    routes = [starlette_route(route, site, BASE) for route in ROUTES]
    app = Starlette(
        routes=[*routes, StarletteRoute(f"{BASE}/openapi.json", _document), *page_routes(site)],
        exception_handlers={HTTPException: _refuse},
    )
    return Guard(app, site.keys, port)


async def _document(request: Request) -> Response:
    return Response(msgspec.json.encode(make_openapi(ROUTES, BASE)), media_type="application/json")


async def _refuse(request: Request, error: Exception) -> Response:
    """Return the error for an unknown path or method."""
    assert isinstance(error, HTTPException)
    message = "unknown path" if error.status_code == 404 else error.detail.lower()
    respond = error_response if request.url.path.startswith(BASE) else page_response
    answer = respond(
        error.status_code,
        RequestError(error.status_code, message, f"see {BASE}/openapi.json"),
    )
    answer.headers.update(error.headers or {})
    return answer


BASE = "/api/v1"
_TASK = "/tasks/{task}"
_ATTEMPT = "/tasks/{task}/attempts/{number:int}"
_RUN = "/pipelines/{run}"

# The handlers' type annotations define the types of requests and responses.
ROUTES: tuple[Route, ...] = (
    Route("GET", "/session", "The project, and the options for new tasks", session.show_session),
    Route("GET", "/tasks", "A page of tasks", tasks.list_tasks),
    Route("POST", "/tasks", "Create a task", tasks.new_task, status=201),
    Route("POST", "/tasks/retry", "Make many tasks pending again", actions.retry_many, slow=True),
    Route("GET", _TASK, "One task in full", tasks.show_task),
    Route("PATCH", _TASK, "Edit an open task", tasks.edit_task, slow=True),
    Route("GET", f"{_TASK}/request", "The task as it was submitted", tasks.show_request),
    Route("POST", f"{_TASK}/run", "Run a task as soon as a slot is free", actions.run, slow=True),
    *action_routes(_TASK),
    Route(
        "GET", f"{_TASK}/timeline", "Phases, attempts and tools over time", artifacts.show_timeline, slow=True
    ),
    Route("GET", f"{_ATTEMPT}/log", "The log of an attempt, in pages", artifacts.show_log),
    Route("GET", f"{_ATTEMPT}/prompt", "The prompt of an attempt", artifacts.show_prompt),
    Route("GET", f"{_ATTEMPT}/raw", "The raw output of an agent, as a download", artifacts.get_raw),
    Route("GET", f"{_TASK}/diff", "The changes of a task", artifacts.show_diff, slow=True),
    Route("GET", f"{_TASK}/files", "The files in a task's directory", artifacts.list_files),
    Route("GET", f"{_TASK}/files/{{path:path}}", "One of these files, as a download", artifacts.get_file),
    Route("GET", "/events", "Past events, in pages", events.list_events),
    Route("GET", "/stream", "New events, as server-sent events", stream=events.stream_events),
    Route("GET", "/pipelines", "Pipeline runs, newest first", pipelines.list_pipelines, slow=True),
    Route("POST", "/pipelines", "Start a pipeline", pipelines.start_pipeline, status=201, slow=True),
    Route("GET", _RUN, "One pipeline run with its steps", pipelines.show_pipeline, slow=True),
    Route(
        "POST",
        f"{_RUN}/resume",
        "Reopen the failed steps of a pipeline run",
        pipelines.resume_pipeline,
        slow=True,
    ),
    Route("GET", "/models", "Models and their current limits", models.list_models, slow=True),
    Route(
        "GET", "/limits", "Accounts: used windows, resets and closed windows", limits.show_limits, slow=True
    ),
    Route("GET", "/machine", "Memory, worker slots and running attempts", machine.show_machine, slow=True),
    Route("GET", "/preflight", "What a run needs and lacks", preflight.show_preflight, slow=True),
    Route("GET", "/cost", "The cost, by group", costs.show_cost, slow=True),
    Route("GET", "/cost/series", "The cost over time", costs.show_series, slow=True),
    Route("POST", "/keys", "Create a one-time URL of this server", session.make_key),
)
