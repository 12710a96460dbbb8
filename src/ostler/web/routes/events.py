"""The routes of events: pages of past ones, and a stream of new ones."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.web.broadcaster import EventBroadcaster
from ostler.web.feed_pages import EventFrame, event_json
from ostler.web.requests import EventsQuery, StreamQuery
from ostler.web.responses import RequestError
from ostler.web.route import Empty, RequestParts
from ostler.web.routes.tasks import find_task
from ostler.web.site import Site

_KEEP_ALIVE_SECONDS = 15.0
_MOST_STREAMS = 400  # the rest of the connections is for other requests
_PIECE = 32 * 1024
_CHECK_SECONDS = 3.0  # how soon the stream of a browser ends after it is logged out


class EventsView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.events/1"
    events: tuple[dict[str, Any], ...]  # ostler.event/1
    next: int  # the `after` of the next page


def list_events(site: Site, project: Project, request: RequestParts[EventsQuery, Empty]) -> EventsView:
    query = request.query
    task = find_task(project, query.task) if query.task else None
    lines = project.journal.feed(query.after, task, query.limit)
    last = lines[-1].position if lines else query.after
    return EventsView(events=tuple(event_json(line) for line in lines), next=last)


async def stream_events(site: Site, request: Request, query: StreamQuery) -> Response:
    if site.broadcaster.streams >= _MOST_STREAMS:
        raise RequestError(
            503, f"{_MOST_STREAMS} streams of events are open", "close some, or poll GET /events"
        )
    last = request.headers.get("last-event-id", "")
    task = await site.call(_find, query.task) if query.task else None
    requested = int(last) if last.isdecimal() and len(last) < 19 else query.after
    now = await site.broadcaster.position()

    def is_allowed() -> bool:
        headers = request.headers
        return site.keys.find_caller(headers.get("cookie", ""), headers.get("authorization", "")) is not None

    # A later position belongs to another store.
    stream = _stream(site.broadcaster, now if requested is None else min(requested, now), task, is_allowed)
    return StreamingResponse(stream, media_type="text/event-stream")


def _find(site: Site, project: Project, text: str) -> TaskId:
    return find_task(project, text)


async def _stream(
    broadcaster: EventBroadcaster, after: int, task: TaskId | None, is_allowed: Callable[[], bool]
) -> AsyncGenerator[bytes]:
    """Yield the events after a position; the next page is read when the client has received the last one."""
    broadcaster.streams += 1
    try:
        yield b"retry: 1000\n\n"
        quiet = 0.0
        while not broadcaster.closed and is_allowed():
            mark = broadcaster.change_count
            while lines := await broadcaster.read(after, task):
                after = lines[-1].position
                quiet = 0.0
                for piece in _join(lines):
                    yield piece
            if not await broadcaster.wait_for_change(mark, _CHECK_SECONDS):
                quiet += _CHECK_SECONDS
            if quiet >= _KEEP_ALIVE_SECONDS:
                quiet = 0.0
                yield b": keep-alive\n\n"
    finally:
        broadcaster.streams -= 1


def _join(lines: Iterable[EventFrame]) -> Iterator[bytes]:
    """Yield the lines in pieces, so that a client that does not read leaves little in memory."""
    piece = bytearray()
    for line in lines:
        piece += line.data
        if len(piece) >= _PIECE:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)
