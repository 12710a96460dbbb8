"""Authentication: only requests of the user who started the server are served."""

from __future__ import annotations

import asyncio
import logging
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ostler.errors import OstlerError
from ostler.web.error_page import STYLE_HASH, page_response
from ostler.web.keys import Caller, Keys
from ostler.web.responses import RequestError, error_response

LOGIN_PATH = "/open"
CALLER = "ostler.caller"  # the key of the scope with the Caller of an accepted request
BODY_LIMIT = 1024 * 1024
_MAX_PATH = 2048
POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {STYLE_HASH}; connect-src 'self'; "
    "img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_READING = ("GET", "HEAD")
_API = re.compile(r"(/p/[^/]+)?/api/")  # also that of a project in a server of several
RESTART_HINT = "run ostler serve again in the project for a new URL"

_log = logging.getLogger(__name__)


class Guard:
    """Checks every request before the application handles it."""

    def __init__(self, app: ASGIApp, keys: Keys, port: int) -> None:
        self._app = app
        self._keys = keys
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        caller = self._keys.find_caller(headers.get("cookie", ""), headers.get("authorization", ""))
        refused = self._check(scope["method"], scope["path"], headers, caller)
        if refused is None:
            scope[CALLER] = caller
            await self._record_use(caller)
        app = self._app if refused is None else answer_error(scope["path"], refused)
        await app(scope, receive, _with_headers(send))

    def _check(self, method: str, path: str, headers: Headers, caller: Caller | None) -> RequestError | None:
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return RequestError(
                421, "this server does not accept that host name", "use the URL that ostler serve printed"
            )
        if path != LOGIN_PATH and caller is None:
            return RequestError(401, "this request has no valid session or token", RESTART_HINT)
        if len(path) > _MAX_PATH:
            return RequestError(414, f"the path is longer than {_MAX_PATH} characters")
        if method in _READING:
            return None
        return _check_change(host, headers, caller)

    async def _record_use(self, caller: Caller | None) -> None:
        session = caller.session if caller else None
        if session is None or not self._keys.sessions.is_use_due(session):
            return
        try:
            await asyncio.to_thread(self._keys.sessions.record_use, session.id)
        except (OstlerError, OSError) as error:  # as on a full disk, which the dashboard is to show
            _log.warning("the last use of a session was not recorded: %s", error)


def _check_change(host: str, headers: Headers, caller: Caller | None) -> RequestError | None:
    origin = headers.get("origin")
    if origin is None and (caller is None or caller.session is not None):
        return RequestError(
            403, "a POST request needs an Origin header", "use the dashboard, or an Authorization header"
        )
    if origin is not None and origin.lower() != f"http://{host}":
        return RequestError(403, "requests from another origin are not allowed")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return RequestError(415, "the body must be JSON", "Content-Type: application/json")
    length = headers.get("content-length", "0")
    if length.isdecimal() and int(length) > BODY_LIMIT:
        return too_large()
    return None


def too_large() -> RequestError:
    return RequestError(
        413, f"the body is larger than {BODY_LIMIT // 2**20} MiB", "put long texts into a file of the project"
    )


def answer_error(path: str, refused: RequestError) -> Response:
    """Return the error as JSON for the API, and as a page for a browser."""
    respond = error_response if _API.match(path) else page_response
    return respond(refused.status, refused)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)  # an image has a stricter policy of its own
        await send(message)

    return sending
