"""One row of the table of routes, and how a request that meets it is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from ostler.project.project import Project
from ostler.web.attachment import Attachment
from ostler.web.problem import refusal
from ostler.web.reading import read_body, read_query
from ostler.web.site import Site

Q = TypeVar("Q")
B = TypeVar("B")


class Nothing(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a request that says nothing."""


class Asked(Struct, Generic[Q, B], frozen=True):
    """What a request says: names in its path, what stands behind the question mark, its JSON."""

    path: Mapping[str, Any]
    query: Q
    body: B


Handler = Callable[[Site, Project, Asked[Any, Any]], object]
Stream = Callable[[Site, Request, Any], Awaitable[Response]]


class Signature(Struct, frozen=True):
    """The types of an operation, as its handler names them."""

    query: type[Struct]
    body: type[Struct]
    answer: Any  # None: a stream


class Route(Struct, frozen=True):
    """An operation of the API: the server and its OpenAPI document are both made of these."""

    method: str
    path: str  # below the base, as starlette writes it
    summary: str
    handler: Handler | None = None
    stream: Stream | None = None  # instead of a handler: it writes for as long as the client listens
    status: int = 200
    slow: bool = False  # may take seconds; quick ones never wait for it

    @property
    def name(self) -> str:
        """The function's, by which documents and clients know the operation."""
        return getattr(self.handler or self.stream, "__name__", "")

    @property
    def signature(self) -> Signature:
        if self.stream is not None:
            return Signature(get_type_hints(self.stream)["query"], Nothing, None)
        hints = get_type_hints(self.handler)
        query, body = get_args(hints["asked"])
        return Signature(query, body, hints["return"])


def starlette_route(route: Route, site: Site, base: str) -> StarletteRoute:
    """The route as the web server takes it."""
    signature = route.signature

    async def answer(request: Request) -> Response:
        try:
            return await _answer(route, signature, site, request)
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception as error:  # noqa: BLE001  (the one place where an error becomes an answer)
            return refusal(error, site.layout.state)

    return StarletteRoute(base + route.path, answer, methods=[route.method], name=route.name)


async def _answer(route: Route, signature: Signature, site: Site, request: Request) -> Response:
    query = read_query(signature.query, request.query_params)
    if route.stream is not None:
        return await route.stream(site, request, query)
    assert route.handler is not None
    body = await read_body(signature.body, request) if route.method == "POST" else Nothing()
    asked = Asked(request.path_params, query, body)
    found = await site.perform(route.handler, asked, slow=route.slow)
    if isinstance(found, Attachment):
        return found.response()
    return Response(msgspec.json.encode(found), route.status, media_type="application/json")
