"""A route of the API, and how its requests are handled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from ostler.web.guard import CALLER
from ostler.web.keys import Caller
from ostler.web.requests import read_body, read_query
from ostler.web.responses import Attachment, Inline, to_response

Q = TypeVar("Q")
B = TypeVar("B")


class Empty(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a request without parameters."""


class RequestParts(Struct, Generic[Q, B], frozen=True):
    """The parts of a request: path parameters, query parameters and body."""

    path: Mapping[str, Any]
    query: Q
    body: B
    caller: Caller = Caller()


Handler = Callable[[Any, Any, RequestParts[Any, Any]], object]  # of a Site, its project and a request
Stream = Callable[[Any, Request, Any], Awaitable[Response]]


class Backend(Protocol):
    """What the routes of an API act on: a site."""

    @property
    def bugs(self) -> Path:
        """The directory of bugs.log."""
        ...

    async def call(self, act: Handler, request: RequestParts[Any, Any], *, slow: bool = False) -> object:
        """Call a handler."""
        ...


class Signature(Struct, frozen=True):
    """The types of a route, from its handler's annotations."""

    query: type[Struct]
    body: type[Struct]
    answer: Any  # None: a stream


class Route(Struct, frozen=True):
    """An operation of the API; the server and the OpenAPI document are made from these."""

    method: str
    path: str  # relative to the base, in starlette's syntax
    summary: str
    handler: Handler | None = None
    stream: Stream | None = None  # instead of a handler
    status: int = 200
    slow: bool = False  # may take seconds; runs in other threads than quick requests

    @property
    def writes(self) -> bool:
        """Whether a request has a body."""
        return self.method in ("POST", "PATCH")

    @property
    def name(self) -> str:
        """The name of the handler, used as operation id."""
        return getattr(self.handler or self.stream, "__name__", "")

    @property
    def signature(self) -> Signature:
        if self.stream is not None:
            return Signature(get_type_hints(self.stream)["query"], Empty, None)
        hints = get_type_hints(self.handler)
        query, body = get_args(hints["request"])
        return Signature(query, body, hints["return"])


def starlette_route(route: Route, backend: Backend, base: str) -> StarletteRoute:
    """Return the route for starlette."""
    signature = route.signature

    async def answer(request: Request) -> Response:
        try:
            return await _answer(route, signature, backend, request)
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception as error:  # noqa: BLE001  (the only place that turns errors into responses)
            return to_response(error, backend.bugs)

    return StarletteRoute(base + route.path, answer, methods=[route.method], name=route.name)


async def _answer(route: Route, signature: Signature, backend: Backend, request: Request) -> Response:
    query = read_query(signature.query, request.query_params)
    if route.stream is not None:
        return await route.stream(backend, request, query)
    assert route.handler is not None
    body = await read_body(signature.body, request) if route.writes else Empty()
    parts = RequestParts(request.path_params, query, body, request.scope[CALLER])
    found = await backend.call(route.handler, parts, slow=route.slow)
    if isinstance(found, Attachment | Inline):
        return found.response()
    return Response(msgspec.json.encode(found), route.status, media_type="application/json")
