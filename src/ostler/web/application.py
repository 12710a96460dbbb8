"""The API's table of routes, and the application that serves the API and the pages."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp

from ostler.web import session
from ostler.web.guard import Guard, answer_error
from ostler.web.openapi import make_openapi
from ostler.web.pages import entrance_routes, page_routes
from ostler.web.responses import RequestError
from ostler.web.route import Backend, Route, starlette_route
from ostler.web.routes import (
    accept,
    actions,
    artifacts,
    changes,
    costs,
    events,
    forecast,
    inbox,
    limits,
    machine,
    models,
    pipelines,
    preflight,
    reviews,
    schedules,
    settings,
    tasks,
    transcripts,
)
from ostler.web.routes.actions import action_routes
from ostler.web.site import Site


def make_application(site: Site, port: int) -> ASGIApp:
    """Return the application of a server of one project: pages and API, protected by the guard."""
    routes = [*project_routes(site), *entrance_routes(site.keys, lambda _: "/")]
    return Guard(make_starlette(routes), site.keys, port)


def project_routes(site: Site) -> list[StarletteRoute]:
    """Return the pages and the API of a project."""
    return [*api_routes(ROUTES, site), *page_routes()]


def api_routes(routes: Sequence[Route], backend: Backend) -> list[StarletteRoute]:
    """Return these routes of an API, and the one of its document."""

    async def document(request: Request) -> Response:
        content = make_openapi(routes, BASE, request.scope.get("root_path", ""))
        return Response(msgspec.json.encode(content), media_type="application/json")

    return [
        *(starlette_route(route, backend, BASE) for route in routes),
        StarletteRoute(f"{BASE}/openapi.json", document),
    ]


def make_starlette(routes: Sequence[BaseRoute]) -> Starlette:
    """Return an application whose errors have the form of all errors."""
    return Starlette(routes=routes, exception_handlers={HTTPException: _refuse})


async def _refuse(request: Request, error: Exception) -> Response:
    """Return the error for an unknown path or method."""
    assert isinstance(error, HTTPException)
    message = "unknown path" if error.status_code == 404 else error.detail.lower()
    of_api = BASE in request.url.path
    refused = RequestError(
        error.status_code, message, f"see {BASE}/openapi.json" if of_api else "open the board at /"
    )
    answer = answer_error(request.url.path, refused)
    answer.headers.update(error.headers or {})
    return answer


BASE = "/api/v1"
_TASK = "/tasks/{task}"
_ATTEMPT = "/tasks/{task}/attempts/{number:int}"
_COMMENT = "/tasks/{task}/review/comments/{comment}"
_RUN = "/pipelines/{run}"

# The handlers' type annotations define the types of requests and responses.
ROUTES: tuple[Route, ...] = (
    Route("GET", "/session", "The project, and the options for new tasks", session.show_session),
    Route("POST", "/session/logout", "Log out the browser that sends the request", session.log_out),
    Route("GET", "/sessions", "The browsers that are logged in", session.list_sessions),
    Route("POST", "/sessions/{session}/revoke", "Log out a browser, or all", session.revoke_sessions),
    Route("GET", "/tasks", "A page of tasks", tasks.list_tasks),
    Route("GET", "/inbox", "What waits for you, the most urgent first", inbox.show_inbox, slow=True),
    Route("POST", "/tasks", "Create a task", tasks.new_task, status=201),
    Route("POST", "/tasks/retry", "Make many tasks pending again", actions.retry_many, slow=True),
    Route("POST", "/tasks/accept", "Merge, publish, rebase or approve tasks", accept.accept_many, slow=True),
    Route("GET", _TASK, "One task in full", tasks.show_task),
    Route("GET", f"{_TASK}/checkout", "How to get the files of a task", accept.show_checkout, slow=True),
    Route(
        "GET", f"{_TASK}/pull-request", "The pull request and its checks", accept.show_pull_request, slow=True
    ),
    Route("PATCH", _TASK, "Edit an open task", tasks.edit_task, slow=True),
    Route("GET", f"{_TASK}/request", "The task as it was submitted", tasks.show_request),
    Route("POST", f"{_TASK}/run", "Run a task as soon as a slot is free", actions.run, slow=True),
    *action_routes(_TASK),
    Route(
        "GET", f"{_TASK}/timeline", "Phases, attempts and tools over time", artifacts.show_timeline, slow=True
    ),
    Route("GET", f"{_TASK}/live", "What the agent of a task does now, and its cost", transcripts.show_live),
    Route("GET", f"{_TASK}/search", "Find a text in all transcripts", transcripts.search, slow=True),
    Route("GET", f"{_TASK}/steps", "Edits, commands, tests, questions", transcripts.show_steps, slow=True),
    Route("GET", f"{_ATTEMPT}/log", "The log of an attempt, in pages", artifacts.show_log),
    Route("GET", f"{_ATTEMPT}/prompt", "The prompt of an attempt", artifacts.show_prompt),
    Route("GET", f"{_ATTEMPT}/raw", "The raw output of an agent, as a download", artifacts.get_raw),
    Route("GET", f"{_TASK}/diff", "The changes of a task", artifacts.show_diff, slow=True),
    Route("GET", f"{_TASK}/changes", "The changed files of a task", changes.show_changes, slow=True),
    Route("GET", f"{_TASK}/patch", "The patch of one changed file, or of all", changes.show_patch, slow=True),
    Route("GET", f"{_TASK}/blobs/{{blob}}", "The text of a changed file", changes.show_blob, slow=True),
    Route("GET", f"{_TASK}/images/{{blob}}", "A changed image", changes.show_image, slow=True),
    Route("GET", f"{_TASK}/review", "The review of a task", reviews.show_review, slow=True),
    Route("POST", f"{_TASK}/review", "Send a review with a decision", reviews.send_review, slow=True),
    Route("POST", f"{_TASK}/review/viewed", "Mark a file as viewed", reviews.mark_viewed, slow=True),
    Route(
        "POST",
        f"{_TASK}/review/comments",
        "Create or change a comment that is not sent",
        reviews.save_comment,
        slow=True,
    ),
    Route(
        "POST",
        f"{_COMMENT}/delete",
        "Delete a comment that is not sent",
        reviews.delete_comment,
        slow=True,
    ),
    Route(
        "POST", f"{_COMMENT}/resolve", "Mark a sent comment as resolved", reviews.resolve_comment, slow=True
    ),
    Route("GET", f"{_TASK}/document", "The document of a task", changes.show_document, slow=True),
    Route("GET", f"{_TASK}/document/file", "The document, as a download", changes.get_document),
    Route("GET", f"{_TASK}/files", "The files in a task's directory", artifacts.list_files),
    Route(
        "GET",
        f"{_TASK}/files/{{path:path}}",
        "One file, as a download or a text",
        artifacts.get_file,
    ),
    Route("GET", "/events", "Past events, in pages", events.list_events),
    Route("GET", "/stream", "New events, as server-sent events", stream=events.stream_events),
    Route("GET", "/pipelines", "Pipeline runs, newest first", pipelines.list_pipelines, slow=True),
    Route("POST", "/pipelines", "Start a pipeline", pipelines.start_pipeline, status=201, slow=True),
    Route("GET", "/schedules", "Schedules and their next and last runs", schedules.show_schedules, slow=True),
    Route(
        "POST", "/schedules/start", "Start a schedule now", schedules.start_schedule, status=201, slow=True
    ),
    Route("GET", _RUN, "One pipeline run with its steps", pipelines.show_pipeline, slow=True),
    Route(
        "POST",
        f"{_RUN}/resume",
        "Reopen the failed steps of a pipeline run",
        pipelines.resume_pipeline,
        slow=True,
    ),
    Route(
        "GET",
        "/forecast",
        "When the waiting tasks are done, and what they cost",
        forecast.show_forecast,
        slow=True,
    ),
    Route("GET", "/models", "Models and their current limits", models.list_models, slow=True),
    Route(
        "GET", "/limits", "Accounts: used windows, resets and closed windows", limits.show_limits, slow=True
    ),
    Route("GET", "/machine", "Memory, worker slots and running attempts", machine.show_machine, slow=True),
    Route("GET", "/preflight", "What a run needs and lacks", preflight.show_preflight, slow=True),
    Route("GET", "/settings", "All settings with their sources", settings.show_settings),
    Route("PATCH", "/settings", "Change settings of the editable table", settings.change, slow=True),
    Route("GET", "/cost", "The cost, by group", costs.show_cost, slow=True),
    Route("GET", "/cost/series", "The cost over time", costs.show_series, slow=True),
    Route("POST", "/keys", "Create a one-time URL of this server", session.make_key),
)
