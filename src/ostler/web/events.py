"""Everything that happened: page by page, and as it happens."""

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
from ostler.web.route import Asked, Nothing
from ostler.web.site import Site
from ostler.web.tasks import find_task

_BEAT_SECONDS = 15.0


class EventsView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.events/1"
    events: tuple[dict[str, Any], ...]  # ostler.event/1
    next: int  # what the next page comes after


def list_events(site: Site, project: Project, asked: Asked[EventsQuery, Nothing]) -> EventsView:
    query = asked.query
    task = find_task(project, query.task) if query.task else None
    lines = project.journal.feed(query.after, task, query.limit)
    last = lines[-1].position if lines else query.after
    return EventsView(events=tuple(feed_json(line) for line in lines), next=last)


async def stream_events(site: Site, request: Request, query: StreamQuery) -> Response:
    last = request.headers.get("last-event-id", "")
    task = await site.perform(_find, query.task) if query.task else None
    said = int(last) if last.isdecimal() and len(last) < 19 else query.after
    now = site.tide.position()
    words = _words(site, now if said is None else min(said, now), task)  # a later place is of another store
    return StreamingResponse(words, media_type="text/event-stream")


def _find(site: Site, project: Project, text: str) -> TaskId:
    return find_task(project, text)


async def _words(site: Site, after: int, task: TaskId | None) -> AsyncGenerator[bytes]:
    """What the client has not heard yet; it is read when the client has taken what came before."""
    yield b"retry: 1000\n\n"
    tide = site.tide
    while not tide.over:
        mark = tide.mark
        while lines := tide.read(after, task):
            after = lines[-1].position
            yield b"".join(line.words for line in lines)
        if not await tide.rises(mark, _BEAT_SECONDS):
            yield b": still here\n\n"
