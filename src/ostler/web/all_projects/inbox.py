"""One inbox of all projects: the pages of each, merged by priority and then by waiting time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from msgspec import structs

from ostler.errors import OstlerError
from ostler.model.policy.needs import Need
from ostler.project.project import Project
from ostler.project.tasks.lists.inbox import InboxPage, read_inbox
from ostler.store.listing import InboxKey
from ostler.views.lists.inbox import InboxCounts, InboxItem
from ostler.web.all_projects.host import ProjectHost
from ostler.web.all_projects.hosted import HostedProject
from ostler.web.all_projects.views import MergedInboxView, ProjectItem
from ostler.web.cursors import write_cursor
from ostler.web.requests import InboxQuery
from ostler.web.responses import record_bug
from ostler.web.route import Empty, RequestParts
from ostler.web.routes.inbox import read_filter
from ostler.web.site import Site

_Place = tuple[InboxKey, ProjectItem]


async def show_merged_inbox(
    host: ProjectHost, _: None, request: RequestParts[InboxQuery, Empty]
) -> MergedInboxView:
    """Return what waits in all open projects; the same cursor is valid for each of them."""
    projects, sites = host.projects, host.sites()
    read = await asyncio.gather(
        *(site.call_in_time(_read_page, request, slow=True) for site in sites.values()),
        return_exceptions=True,
    )
    pages = {name: page for name, page in zip(sites, read, strict=True) if isinstance(page, InboxPage)}
    for error in read:
        if isinstance(error, Exception) and not isinstance(error, OstlerError):
            record_bug(error, host.bugs)
    wanted = read_filter(request.query)
    merged: dict[Need, list[_Place]] = {kind: _merge(kind, pages, projects) for kind in wanted.kinds}
    limit = wanted.limit
    more: dict[Need, InboxKey] = {
        kind: places[limit - 1][0] if len(places) > limit else places[-1][0]
        for kind, places in merged.items()
        if len(places) > limit or any(kind in page.last for page in pages.values())
    }
    return MergedInboxView(
        items=tuple(item for places in merged.values() for _, item in places[:limit]),
        counts=_add_counts(page.counts for page in pages.values()),
        next={kind: write_cursor(key) for kind, key in more.items()},
        positions={name: page.position for name, page in pages.items()},
        unavailable=tuple(name for name in projects if name not in pages),
    )


def _read_page(site: Site, project: Project, request: RequestParts[InboxQuery, Empty]) -> InboxPage:
    return read_inbox(project, read_filter(request.query), site.sizes)


def _merge(kind: Need, pages: Mapping[str, InboxPage], projects: Mapping[str, HostedProject]) -> list[_Place]:
    found = [
        (page.keys[item.id], _add_project(item, projects[name]))
        for name, page in pages.items()
        for item in page.items
        if item.kind == kind
    ]
    return sorted(found, key=lambda place: (structs.astuple(place[0]), place[1].project))


def _add_project(item: InboxItem, hosted: HostedProject) -> ProjectItem:
    return ProjectItem(**structs.asdict(item), project=hosted.known.name, project_title=hosted.title)


def _add_counts(counts: Iterable[InboxCounts]) -> InboxCounts:
    rows = [structs.asdict(one) for one in counts]
    return InboxCounts(**{name: sum(row[name] for row in rows) for name in InboxCounts.__struct_fields__})
