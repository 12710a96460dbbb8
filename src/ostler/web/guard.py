"""Authentication: only requests of the user who started the server are served."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from threading import Lock

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ostler.secrets.registry import SECRETS
from ostler.web.responses import RequestError, error_response, page_response

LOGIN_PATH = "/open"
BODY_LIMIT = 1024 * 1024
_MAX_PATH = 2048
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
RESTART_HINT = "run ostler serve again in the project for a new URL"


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
        refused = self._check(scope["method"], scope["path"], headers)
        app = self._app if refused is None else _answer(scope["path"], refused)
        await app(scope, receive, _with_headers(send))

    def _check(self, method: str, path: str, headers: Headers) -> RequestError | None:
        host, authorization = headers.get("host", "").lower(), headers.get("authorization", "")
        if host not in self._hosts:
            return RequestError(
                421, "this server does not accept that host name", "use the URL that ostler serve printed"
            )
        if path != LOGIN_PATH and not self._keys.is_authorized(headers.get("cookie", ""), authorization):
            return RequestError(401, "not authenticated", RESTART_HINT)
        if len(path) > _MAX_PATH:
            return RequestError(414, f"the path is longer than {_MAX_PATH} characters")
        if method in _READING:
            return None
        return self._check_change(host, authorization, headers)

    def _check_change(self, host: str, authorization: str, headers: Headers) -> RequestError | None:
        origin = headers.get("origin")
        if origin is None and not self._keys.has_bearer_token(authorization):
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


def _answer(path: str, refused: RequestError) -> Response:
    respond = error_response if path.startswith("/api/") else page_response
    return respond(refused.status, refused)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_HEADERS)
        await send(message)

    return sending


_TOKEN_BYTES = 32
KEY_SECONDS = 3600.0


class Keys:
    """The secret of the server, and one-time keys that exchange for it; thread-safe."""

    def __init__(self, port: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        SECRETS.register([("server-token", self.token)])
        self.cookie = (
            f"ostler-{port}"  # the port is part of the name, since cookies are shared by all ports of a host
        )
        self._monotonic = monotonic
        self._lock = Lock()
        self._unused: dict[str, float] = {}  # key -> time of expiry

    def create_key(self) -> str:
        """Return a new key that can be used once."""
        key = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._lock:
            self._unused[key] = self._monotonic() + KEY_SECONDS
        return key

    def redeem(self, key_text: str) -> bool:
        """Use a key; return False when it is unknown, expired or already used."""
        now = self._monotonic()
        with self._lock:
            self._unused = {key: end for key, end in self._unused.items() if end > now}
            found = [key for key in self._unused if equal_in_constant_time(key, key_text)]
            for key in found:
                del self._unused[key]
        return bool(found)

    def is_authorized(self, cookies: str, authorization: str) -> bool:
        """Return whether a request with these headers has the secret."""
        return self.has_bearer_token(authorization) or any(
            equal_in_constant_time(self.token, one) for one in _values(cookies, self.cookie)
        )

    def has_bearer_token(self, authorization: str) -> bool:
        kind, _, token = authorization.partition(" ")
        return kind.lower() == "bearer" and equal_in_constant_time(self.token, token.strip())


def equal_in_constant_time(one: str, other: str) -> bool:
    """Compare in constant time, so that the duration reveals nothing about the secret."""
    return secrets.compare_digest(one.encode(), other.encode("utf-8", "surrogateescape"))


def _values(cookies: str, name: str) -> list[str]:
    pairs = (part.strip().partition("=") for part in cookies.split(";"))
    return [value for key, _, value in pairs if key == name]
