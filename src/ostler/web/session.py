"""The routes of the session: the project, the options for new tasks, logged-in browsers, one-time keys."""

from __future__ import annotations

import time
from typing import Protocol

from msgspec import Struct

from ostler import __version__
from ostler.clock import format_rfc3339
from ostler.executors.registry import ExecutorRegistry
from ostler.model.task import PRIORITIES, WEIGHTS
from ostler.project.project import Project
from ostler.project.running.activity import Activity, describe_activity
from ostler.prompt.role import AGENTS, list_project_roles
from ostler.skills.location import find_skills
from ostler.web.browser_sessions import BrowserSession
from ostler.web.keys import Keys
from ostler.web.requests import EmptyBody
from ostler.web.responses import RequestError
from ostler.web.route import Empty, RequestParts
from ostler.web.routes.pipelines import list_pipeline_names
from ostler.web.site import Site


class SessionView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.session/1"
    project: str  # name of its directory
    root: str
    version: str
    runs_tasks: bool  # false: view only
    activity: Activity  # whether any process runs the tasks of the project
    problems: tuple[str, ...]  # why ready tasks cannot run
    jobs: int
    position: int  # position of the feed
    now: str
    executors: tuple[str, ...]
    roles: tuple[str, ...]
    skills: tuple[str, ...]
    weights: tuple[str, ...]
    priorities: tuple[str, ...]
    pipelines: tuple[str, ...]


class BrowserView(Struct, frozen=True):
    """A browser that is logged in."""

    id: str
    browser: str
    created_at: str
    used_at: str  # within ten minutes
    expires_at: str
    current: bool  # the browser that sends the request


class BrowsersView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.sessions/1"
    sessions: tuple[BrowserView, ...]


class KeyView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.key/1"
    url: str


class Entrance(Protocol):
    """A server's keys and sessions."""

    @property
    def keys(self) -> Keys: ...

    def make_one_time_url(self) -> str: ...


def show_session(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> SessionView:
    root, settings = project.layout.root, project.settings
    return SessionView(
        project=root.name,
        root=str(root),
        version=__version__,
        runs_tasks=site.runs_tasks,
        activity=describe_activity(project, site.runs_tasks),
        problems=site.problems(),
        jobs=settings.run.jobs,
        position=project.journal.position(),
        now=format_rfc3339(time.time()),
        executors=tuple(dict.fromkeys((*settings.executors, *ExecutorRegistry().list(aliases=False)))),
        roles=tuple(dict.fromkeys((*AGENTS, *list_project_roles(root)))),
        skills=tuple(dict.fromkeys(skill.name for skill in find_skills(root, settings.skills))),
        weights=WEIGHTS,
        priorities=PRIORITIES,
        pipelines=tuple(list_pipeline_names(project)),
    )


def make_key(site: Entrance, _: object, request: RequestParts[Empty, EmptyBody]) -> KeyView:
    return KeyView(url=site.make_one_time_url())


def log_out(site: Entrance, _: object, request: RequestParts[Empty, EmptyBody]) -> BrowsersView:
    """End the session of the browser that sends the request; return it."""
    session = request.caller.session
    if session is None:
        raise RequestError(409, "a request with the token has no session", "log out in the browser")
    return _view_sessions(site.keys.sessions.revoke(session.id), session)


def list_sessions(site: Entrance, _: object, request: RequestParts[Empty, Empty]) -> BrowsersView:
    return _view_sessions(site.keys.sessions.list(), request.caller.session)


def revoke_sessions(site: Entrance, _: object, request: RequestParts[Empty, EmptyBody]) -> BrowsersView:
    """End a session, or all with "all"; return those that ended."""
    name = request.path["session"]
    ended = site.keys.sessions.revoke(name)
    if not ended and name != "all":
        raise RequestError(404, f"no session {name[:80]}", "GET /api/v1/sessions lists them")
    return _view_sessions(ended, request.caller.session)


def _view_sessions(sessions: tuple[BrowserSession, ...], own: BrowserSession | None) -> BrowsersView:
    current = own.id if own else ""
    return BrowsersView(sessions=tuple(_view_session(one, current) for one in sessions))


def _view_session(one: BrowserSession, current: str) -> BrowserView:
    created, used, expires = map(format_rfc3339, (one.created_at, one.used_at, one.expires_at))
    return BrowserView(one.id, one.browser, created, used, expires, one.id == current)
