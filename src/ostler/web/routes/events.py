"""The routes of events: pages of past ones, and a stream of new ones."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.views.feed import feed_json
from ostler.web.requests import EventsQuery, StreamQuery
from ostler.web.route import Empty, RequestParts
from ostler.web.routes.tasks import find_task
from ostler.web.site import Site

_KEEP_ALIVE_SECONDS = 15.0


class EventsView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.events/1"
    events: tuple[dict[str, Any], ...]  # ostler.event/1
    next: int  # the `after` of the next page


def list_events(site: Site, project: Project, request: RequestParts[EventsQuery, Empty]) -> EventsView:
    query = request.query
    task = find_task(project, query.task) if query.task else None
    lines = project.journal.feed(query.after, task, query.limit)
    last = lines[-1].position if lines else query.after
    return EventsView(events=tuple(feed_json(line) for line in lines), next=last)


async def stream_events(site: Site, request: Request, query: StreamQuery) -> Response:
    last = request.headers.get("last-event-id", "")
    task = await site.run_in_thread(_find, query.task) if query.task else None
    requested = int(last) if last.isdecimal() and len(last) < 19 else query.after
    now = site.broadcaster.position()
    # A later position belongs to another store.
    stream = _stream(site, now if requested is None else min(requested, now), task)
    return StreamingResponse(stream, media_type="text/event-stream")


def _find(site: Site, project: Project, text: str) -> TaskId:
    return find_task(project, text)


async def _stream(site: Site, after: int, task: TaskId | None) -> AsyncGenerator[bytes]:
    """Yield the events after a position; the next page is read when the client has received the last one."""
    yield b"retry: 1000\n\n"
    broadcaster = site.broadcaster
    while not broadcaster.closed:
        mark = broadcaster.change_count
        while lines := broadcaster.read(after, task):
            after = lines[-1].position
            yield b"".join(line.data for line in lines)
        if not await broadcaster.wait_for_change(mark, _KEEP_ALIVE_SECONDS):
            yield b": keep-alive\n\n"
