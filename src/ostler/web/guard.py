"""The door of the server: nothing behind it hears a request that is not the person's own."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ostler.web.keys import Keys
from ostler.web.problem import Refused, error_response, page_response

OPENING = "/open"
BODY_LIMIT = 1024 * 1024
_LONGEST_PATH = 2048
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
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
AGAIN = "run ostler serve again in the project for a fresh address"


class Guard:
    """Wraps the whole application."""

    def __init__(self, app: ASGIApp, keys: Keys, port: int) -> None:
        self._app = app
        self._keys = keys
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        refused = self._refusal(scope["method"], scope["path"], headers)
        app = self._app if refused is None else _answer(scope["path"], refused)
        await app(scope, receive, _with_headers(send))

    def _refusal(self, method: str, path: str, headers: Headers) -> Refused | None:
        host, authorization = headers.get("host", "").lower(), headers.get("authorization", "")
        if host not in self._hosts:
            return Refused(
                421, "this server does not go by that name", "use the address that ostler serve printed"
            )
        if path != OPENING and not self._keys.opens(headers.get("cookie", ""), authorization):
            return Refused(401, "this address needs the key of the server", AGAIN)
        if len(path) > _LONGEST_PATH:
            return Refused(414, f"an address has {_LONGEST_PATH} characters at most")
        if method in _READING:
            return None
        return self._refusal_of_change(host, authorization, headers)

    def _refusal_of_change(self, host: str, authorization: str, headers: Headers) -> Refused | None:
        origin = headers.get("origin")
        if origin is None and not self._keys.bears(authorization):
            return Refused(403, "a change needs an Origin", "use the dashboard, or an Authorization header")
        if origin is not None and origin.lower() != f"http://{host}":
            return Refused(403, "another site may change nothing here")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return Refused(415, "a change is asked for in JSON", "Content-Type: application/json")
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > BODY_LIMIT:
            return too_large()
        return None


def too_large() -> Refused:
    return Refused(
        413, f"a request has {BODY_LIMIT // 2**20} MiB at most", "put longer material into the project"
    )


def _answer(path: str, refused: Refused) -> Response:
    respond = error_response if path.startswith("/api/") else page_response
    return respond(refused.status, refused)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_HEADERS)
        await send(message)

    return sending
