"""The dashboard's static files, and the page that logs a browser in."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route as StarletteRoute

from ostler.errors import OstlerError, PathEscape
from ostler.files.paths import open_beneath
from ostler.web.browser_sessions import LIFETIME_SECONDS
from ostler.web.error_page import page_response
from ostler.web.guard import LOGIN_PATH, RESTART_HINT
from ostler.web.keys import Keys
from ostler.web.responses import RequestError

STATIC = Path(__file__).parent / "static"
PAGES = (
    "/",
    "/inbox",
    "/tasks/{task}",
    "/tasks/{task}/review",
    "/pipelines",
    "/pipelines/{run}",
    "/models",
    "/cost",
    "/machine",
    "/schedules",
    "/settings",
)
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}


def page_routes(paths: Sequence[str] = PAGES, file: str = "index.html") -> list[StarletteRoute]:
    """Return the routes of pages; all are the same file, whose script reads the URL."""

    async def page(request: Request) -> Response:
        return _file(file)

    return [StarletteRoute(path, page) for path in paths]


def entrance_routes(keys: Keys, find_start: Callable[[Request], str]) -> list[StarletteRoute]:
    """Return the routes of the static files and of the login, which leads to `find_start`."""

    async def static(request: Request) -> Response:
        return _file(request.path_params["path"])

    def enter(request: Request) -> Response:
        return _enter(keys, request, find_start(request))

    return [StarletteRoute("/static/{path:path}", static), StarletteRoute(LOGIN_PATH, enter)]


def _enter(keys: Keys, request: Request, start: str) -> Response:
    """Log the browser in with a token of its own; a token that it brings is never accepted as a new one."""
    sessions, answer = keys.sessions, RedirectResponse(start, 303)
    caller = keys.find_caller(request.headers.get("cookie", ""), "")
    if not keys.redeem(request.query_params.get("key", "")):
        if caller is not None:
            return answer
        return page_response(401, RequestError(401, "this URL is expired or was already used", RESTART_HINT))
    try:
        if caller is not None and caller.session is not None:
            sessions.revoke(caller.session.id)
        token = sessions.create(request.headers.get("user-agent", ""))
    except OstlerError as error:  # as on a full disk
        return page_response(500, error)
    lifetime = int(LIFETIME_SECONDS)
    answer.set_cookie(sessions.cookie, token, max_age=lifetime, httponly=True, samesite="strict")
    return answer


def _file(name: str) -> Response:
    kind = _KINDS.get(Path(name).suffix)
    try:
        if kind is None:
            raise FileNotFoundError
        with os.fdopen(open_beneath(STATIC, name, os.O_RDONLY), "rb") as file:
            return Response(file.read(), media_type=kind)
    except (OSError, PathEscape):
        return page_response(404, RequestError(404, "page not found"))
