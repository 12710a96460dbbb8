"""Requests to package indexes, through the proxy of the user; each hop of a redirect is reported."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO, NamedTuple
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import (
    BaseHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from ostler.config.host import format_authority
from ostler.sandbox.network.company_proxy import find_company_proxy
from ostler.sandbox.network.indexes.address import hide_secrets
from ostler.sandbox.network.trust import make_tls_context
from ostler.sandbox.readable import has_file

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
    trusted = next((path for path in certificates if has_file(Path(path))), "")
    context = make_tls_context({**environ, "NODE_EXTRA_CA_CERTS": trusted} if trusted else environ)
    handlers = (_CompanyProxy(environ), HTTPSHandler(context=context), _Redirect(on_hop))
    return build_opener(ProxyHandler({}), *handlers)  # not the proxies of this process


class _CompanyProxy(BaseHandler):
    """Sends requests to the proxy that the environment names."""

    handler_order = 100  # before the handlers that connect

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def http_open(self, req: Request) -> None:
        via = find_company_proxy(req.type, urlsplit(req.full_url).hostname or "", self._environ)
        if via is None:
            return
        if via.tls:
            raise OSError("a proxy with https:// is not used for questions to package indexes")
        for name, value in via.headers:
            req.add_unredirected_header(name, value)
        req.set_proxy(format_authority(via.host, via.port), "http")

    https_open = http_open


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
