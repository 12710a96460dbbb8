"""The pages of package indexes: the addresses of the files that they link to."""

from __future__ import annotations

import html
import re
from itertools import islice
from typing import Any, cast
from urllib.parse import urldefrag, urljoin

import msgspec

from ostler.sandbox.network.indexes.found import Kind

# Packages that nearly every index has and whose pages are small; after 404 the next one is asked for.
PAGES: dict[Kind, tuple[str, ...]] = {
    "python": ("six/", "pip/"),
    "links": ("",),
    "npm": ("wrappy", "ms"),
    "cargo": ("config.json",),
}
FILES: dict[Kind, str] = {
    "go": "golang.org/x/text/@v/v0.3.0.mod",
    "gem": "gems/rake-13.0.6.gem",
    "conda": "noarch/repodata.json.zst",
    "maven": "junit/junit/4.13.2/junit-4.13.2.pom",
}
ACCEPT: dict[Kind, str] = {
    "python": "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1",  # noqa: E501
    "npm": "application/vnd.npm.install-v1+json, application/json;q=0.5",
}
_MAX_LINKS = 2000
_LINK = re.compile(r"""(?i)<a\b[^>]*?\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""")
_BASE = re.compile(r"""(?i)<base\b[^>]*?\bhref\s*=\s*["']([^"']*)["']""")


def read_links(kind: Kind, body: bytes, type: str, url: str) -> list[str]:
    """Return the addresses of files that a page names; nothing for a page that is not understood."""
    if kind in ("python", "links") and not type.endswith("json"):
        return read_html(body, url)
    try:
        value = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return []
    match kind:
        case "python":
            found = [one.get("url") for one in _tables(value.get("files"))]
        case "npm":
            found = [_table(one.get("dist")).get("tarball") for one in _tables(value.get("versions"))]
        case "cargo":
            found = [_download(value.get("dl"))]
        case _:
            found = []
    return [_join(url, one) for one in found[:_MAX_LINKS] if isinstance(one, str) and one]


def read_html(body: bytes, url: str) -> list[str]:
    """Return the links of an HTML page."""
    text = body.decode("utf-8", "replace")
    base = _BASE.search(text)
    start = urljoin(url, html.unescape(base[1])) if base else url
    found = islice(_LINK.finditer(text), _MAX_LINKS)
    links = [html.unescape(match[1] or match[2] or match[3] or "") for match in found]
    return [_join(start, link) for link in links if link and not link.startswith("#")]


def _join(base: str, link: str) -> str:
    """Return the address of a link; the checksum after it is not sent."""
    return urldefrag(urljoin(base, link)).url


def _download(template: Any) -> str | None:
    """Return the address of one small crate."""
    if not isinstance(template, str):
        return None
    return template if "{" in template else f"{template}/cfg-if/1.0.0/download"


def _table(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _tables(value: Any) -> list[dict[str, Any]]:
    items = list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else value
    return [_table(one) for one in cast("list[Any]", items)] if isinstance(items, list) else []
