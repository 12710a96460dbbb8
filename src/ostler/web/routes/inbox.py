"""The route of what waits for a person."""

from __future__ import annotations

from ostler.model.policy.needs import URGENT, Need
from ostler.model.task import to_priority
from ostler.project.project import Project
from ostler.project.tasks.lists.inbox import InboxFilter, read_inbox
from ostler.store.listing import InboxKey, TaskFilter
from ostler.views.lists.board import statuses_of
from ostler.views.lists.inbox import InboxView
from ostler.web.cursors import read_cursor, write_cursor
from ostler.web.requests import InboxQuery
from ostler.web.route import Empty, RequestParts
from ostler.web.routes.tasks import read_statuses
from ostler.web.site import Site


def show_inbox(site: Site, project: Project, request: RequestParts[InboxQuery, Empty]) -> InboxView:
    page = read_inbox(project, read_filter(request.query), site.sizes)
    return InboxView(
        items=page.items,
        counts=page.counts,
        next={kind: write_cursor(key) for kind, key in page.last.items()},
        position=page.position,
    )


def read_filter(query: InboxQuery) -> InboxFilter:
    """Return which tasks a request lists."""
    kinds: tuple[Need, ...] = (query.kind,) if query.kind else URGENT
    start = read_cursor(query.after, InboxKey)
    after = dict.fromkeys(kinds, start) if start else {}
    statuses = statuses_of(None, read_statuses(query.status))
    matching = TaskFilter(statuses, query.q, query.pipeline, priority=to_priority(query.priority or ""))
    return InboxFilter(kinds, after, query.limit, matching)
