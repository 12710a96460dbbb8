"""The application of a server of several projects: below the prefix of each, its pages and its API."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ostler.web.address import PROJECT_PREFIX
from ostler.web.all_projects.host import ProjectHost
from ostler.web.all_projects.hosted import HostedProject
from ostler.web.all_projects.routes import HOST_ROUTES
from ostler.web.application import api_routes, make_starlette, project_routes
from ostler.web.guard import Guard, answer_error
from ostler.web.pages import entrance_routes, page_routes
from ostler.web.responses import RequestError
from ostler.web.site import Site

HOST_PAGES = ("/", "/inbox")
_LIST_HINT = "ostler projects   lists them"


def make_host_application(host: ProjectHost, port: int) -> ASGIApp:
    """Return the application, protected by one guard for all projects."""

    def find_start(request: Request) -> str:
        hosted = host.projects.get(request.query_params.get("project", ""))
        return f"{hosted.path}/" if hosted else "/"

    own = make_starlette(
        [
            *api_routes(HOST_ROUTES, host),
            *page_routes(HOST_PAGES, "projects.html"),
            *entrance_routes(host.keys, find_start),
        ]
    )
    return Guard(_Dispatcher(host, own), host.keys, port)


class _Dispatcher:
    """Passes a request to the application of the project that its path names."""

    def __init__(self, host: ProjectHost, own: ASGIApp) -> None:
        self._host = host
        self._own = own
        self._apps: dict[Site, ASGIApp] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if not path.startswith(PROJECT_PREFIX):
            await self._own(scope, receive, send)
            return
        name, slash, rest = path.removeprefix(PROJECT_PREFIX).partition("/")
        hosted = self._host.projects.get(name)
        if hosted is None:
            refused = RequestError(404, f"no project {name[:80]} on this server", _LIST_HINT)
            await answer_error(path, refused)(scope, receive, send)
        elif not slash:
            await RedirectResponse(f"{hosted.path}/", 307)(scope, receive, send)
        elif (site := hosted.site) is None:
            await answer_error(path, _describe_unavailable(hosted))(scope, receive, send)
        else:
            if not rest.startswith("api/"):
                await asyncio.to_thread(self._host.record_visit, hosted)
            await self._find_app(site)({**scope, "root_path": hosted.path}, receive, send)

    def _find_app(self, site: Site) -> ASGIApp:
        if site not in self._apps:
            open_sites = set(self._host.sites().values())
            self._apps = {known: app for known, app in self._apps.items() if known in open_sites}
            self._apps[site] = make_starlette(project_routes(site))
        return self._apps[site]


def _describe_unavailable(hosted: HostedProject) -> RequestError:
    problem = hosted.problem
    if problem is None:
        return RequestError(503, f"{hosted.known.name} is being opened", "try it again")
    return RequestError(503, problem.message, problem.hint, problem.code)
