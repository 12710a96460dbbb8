"""The whole site as one application."""

from __future__ import annotations

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp

from ostler.web.guard import Guard
from ostler.web.openapi import openapi
from ostler.web.pages import page_routes
from ostler.web.problem import Refused, error_response, page_response
from ostler.web.route import starlette_route
from ostler.web.routes import BASE, ROUTES
from ostler.web.site import Site


def application(site: Site, port: int) -> ASGIApp:
    """Pages and API behind the guard."""
    routes = [starlette_route(route, site, BASE) for route in ROUTES]
    app = Starlette(
        routes=[*routes, StarletteRoute(f"{BASE}/openapi.json", _document), *page_routes(site)],
        exception_handlers={HTTPException: _refuse},
    )
    return Guard(app, site.keys, port)


async def _document(request: Request) -> Response:
    return Response(msgspec.json.encode(openapi(ROUTES, BASE)), media_type="application/json")


async def _refuse(request: Request, error: Exception) -> Response:
    """What no route answers, or not in this way."""
    assert isinstance(error, HTTPException)
    message = "there is no such address" if error.status_code == 404 else error.detail.lower()
    respond = error_response if request.url.path.startswith(BASE) else page_response
    answer = respond(
        error.status_code, Refused(error.status_code, message, f"{BASE}/openapi.json lists what there is")
    )
    answer.headers.update(error.headers or {})
    return answer
