"""The routes of the server itself: its projects, their inbox, logged-in browsers, one-time URLs."""

from __future__ import annotations

import asyncio

from ostler import __version__
from ostler.clock import format_rfc3339
from ostler.errors import OstlerError
from ostler.project.project import Project
from ostler.project.tasks.lists.task_list import read_counts
from ostler.views.lists.board import Counts
from ostler.web import session
from ostler.web.all_projects.host import ProjectHost
from ostler.web.all_projects.hosted import HostedProject
from ostler.web.all_projects.inbox import show_merged_inbox
from ostler.web.all_projects.views import ProjectSummary, ProjectsView
from ostler.web.route import Empty, RequestParts, Route
from ostler.web.site import Site

_Numbers = tuple[int, Counts]


async def list_projects(host: ProjectHost, _: None, request: RequestParts[Empty, Empty]) -> ProjectsView:
    hosted = list(host.projects.values())
    summaries = await asyncio.gather(*map(_summarize, hosted))
    return ProjectsView(projects=tuple(summaries), view_only=host.view_only, version=__version__)


async def _summarize(hosted: HostedProject) -> ProjectSummary:
    site, problem = hosted.site, hosted.problem
    numbers: _Numbers | None = None
    if site is not None:
        try:
            numbers = await site.call_in_time(_read_numbers, None)
        except OstlerError as error:
            problem = error
        except RuntimeError:  # the site was closed meanwhile
            site = None
    return ProjectSummary(
        name=hosted.known.name,
        title=hosted.title,
        root=hosted.known.root,
        path=hosted.path,
        state=hosted.state,
        problem=problem.message if problem else "",
        hint=problem.hint if problem else "",
        used_at=format_rfc3339(hosted.known.used_at),
        position=numbers[0] if numbers else None,
        counts=numbers[1] if numbers else None,
    )


def _read_numbers(site: Site, project: Project, _: None) -> _Numbers:
    return project.journal.position(), read_counts(project)


# The handlers of the sessions are those of a server of one project.
HOST_ROUTES: tuple[Route, ...] = (
    Route("GET", "/projects", "The projects, with their counts", list_projects),
    Route("GET", "/inbox", "What waits for you in all projects, the most urgent first", show_merged_inbox),
    Route("POST", "/session/logout", "Log out the browser that sends the request", session.log_out),
    Route("GET", "/sessions", "The browsers that are logged in", session.list_sessions),
    Route("POST", "/sessions/{session}/revoke", "Log out a browser, or all", session.revoke_sessions),
    Route("POST", "/keys", "Create a one-time URL of this server", session.make_key),
)
