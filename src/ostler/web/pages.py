"""The dashboard's static files, and the page that logs a browser in."""

from __future__ import annotations

import os
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route as StarletteRoute

from ostler.errors import PathEscape
from ostler.files.paths import open_beneath
from ostler.web.guard import LOGIN_PATH, RESTART_HINT
from ostler.web.responses import RequestError, page_response
from ostler.web.site import Site

STATIC = Path(__file__).parent / "static"
PAGES = ("/", "/tasks/{task}", "/pipelines", "/pipelines/{run}", "/models", "/cost", "/machine")
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}


def page_routes(site: Site) -> list[StarletteRoute]:
    """Return the routes of all pages; every page is the same file, whose script reads the URL."""

    async def page(request: Request) -> Response:
        return _file("index.html")

    async def static(request: Request) -> Response:
        return _file(request.path_params["path"])

    async def enter(request: Request) -> Response:
        return _enter(site, request)

    pages = [StarletteRoute(path, page) for path in PAGES]
    return [*pages, StarletteRoute("/static/{path:path}", static), StarletteRoute(LOGIN_PATH, enter)]


def _enter(site: Site, request: Request) -> Response:
    keys = site.keys
    is_authorized = keys.is_authorized(request.headers.get("cookie", ""), "")
    if not keys.redeem(request.query_params.get("key", "")) and not is_authorized:
        return page_response(401, RequestError(401, "this URL is expired or was already used", RESTART_HINT))
    answer = RedirectResponse("/", 303)
    answer.set_cookie(keys.cookie, keys.token, httponly=True, samesite="strict")
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
