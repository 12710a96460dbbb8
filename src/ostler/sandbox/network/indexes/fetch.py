"""Requests to package indexes, through the proxy of the user; each hop of a redirect is reported."""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException, HTTPMessage, HTTPResponse
from typing import IO, Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import (
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
    proxy_bypass_environment,  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
)

from ostler.sandbox.network.indexes.address import hide_secrets

MAX_BYTES = 2 * 1024 * 1024
_BLOCK = 64 * 1024
FAILURES = (OSError, HTTPException, ValueError)


class Fetched(NamedTuple):
    """A page, its type and its address after redirects."""

    body: bytes
    type: str
    url: str


class Fetcher:
    """Reads pages until a deadline; `on_hop` receives each address before it is asked."""

    def __init__(
        self,
        environ: Mapping[str, str],
        certificates: tuple[str, ...],
        on_hop: Callable[[str], bool],
        seconds: float,
    ) -> None:
        self._deadline = time.monotonic() + seconds
        self._seconds = seconds
        self._opener = _build_opener(environ, certificates, on_hop)
        self._on_hop = on_hop

    def fetch(self, url: str, accept: str = "*/*", method: str = "GET") -> Fetched:
        """Return a page, at most 2 MB of it; raises one of FAILURES."""
        request = _build_request(url, accept, method)
        if not self._on_hop(request.full_url):
            raise ValueError("the address is not allowed")
        with self._opener.open(request, timeout=self._seconds) as response:
            return Fetched(self._read(response), response.headers.get_content_type(), response.url)

    def _read(self, response: HTTPResponse) -> bytes:
        blocks: list[bytes] = []
        size = 0
        while size < MAX_BYTES and (block := response.read1(_BLOCK)):
            blocks.append(block)
            size += len(block)
            if time.monotonic() > self._deadline:
                raise TimeoutError("timed out")
        return b"".join(blocks)


def _build_request(url: str, accept: str, method: str) -> Request:
    """Return a request; a password of the URL is sent to its own host only."""
    parts = urlsplit(url)
    headers = {"Accept": accept, "User-Agent": "ostler"}
    request = Request(hide_secrets(url), method=method, headers=headers)  # noqa: S310  (on_hop checks it)
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        encoded = base64.b64encode(login.encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {encoded}")
    return request


def _build_opener(
    environ: Mapping[str, str], certificates: tuple[str, ...], on_hop: Callable[[str], bool]
) -> OpenerDirector:
    context = ssl.create_default_context()
    for path in certificates:
        try:
            context.load_verify_locations(path)
        except (OSError, ssl.SSLError):
            continue  # the tool itself reports it
    return build_opener(_Proxy(environ), HTTPSHandler(context=context), _Redirect(on_hop))


class _Proxy(ProxyHandler):
    """The proxies that an environment names, which need not be that of this process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        read = {name.lower(): value for name, value in environ.items() if name.lower().endswith("_proxy")}
        read |= {name: value for name, value in environ.items() if name.endswith("_proxy") and value}
        proxies = {
            scheme: read[f"{scheme}_proxy"] for scheme in ("http", "https") if read.get(f"{scheme}_proxy")
        }
        super().__init__(proxies)
        self._no_proxy = {"no": read.get("no_proxy", "")}

    def proxy_open(self, req: Request, proxy: str, type: str) -> Any:
        if proxy_bypass_environment(req.host, self._no_proxy):
            return None
        return super().proxy_open(req, proxy, type)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportAttributeAccessIssue]


class _Redirect(HTTPRedirectHandler):
    def __init__(self, on_hop: Callable[[str], bool]) -> None:
        self._on_hop = on_hop

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if not self._on_hop(newurl):
            raise HTTPError(
                hide_secrets(newurl), code, "redirect to an address that is not allowed", headers, fp
            )
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        if new is not None:
            new.method = req.get_method()
        return new
