"""Addresses of package indexes: the host, the local port or the directory that a URL leads to."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from ostler.config.host import LOCALHOST, PROXY_PORT, WEB_PORTS, canonical_host, format_authority
from ostler.sandbox.network.addresses import classify
from ostler.secrets.find import find_secrets

_DEFAULT_PORTS = {"http": 80, "https": 443}
_USER = re.compile(r"(?<=://)[^/?#\s@]*(?:@[^/?#\s@]*)*@")
_CONDA_TOKEN = re.compile(r"(?<=/)t/(?=[^/\s]*\d)[^/\s]{12,}/")
_QUERY = re.compile(r"(://[^\s?#]*)\?[^\s#]*")
# A part of a path that is letters and digits and no name: a key.
_KEY_IN_PATH = re.compile(r"/(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9_]{20,}(?=/|\s|$)")


class Address(Struct, frozen=True):
    """Where a URL leads: exactly one of the fields is set."""

    host: str = ""  # HOST or HOST:PORT
    local_port: int = 0
    path: Path | None = None


def read_address(url: str) -> Address | None:
    """Return where a URL leads; None if it is neither HTTP to a plain host nor a local file."""
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    if parts.scheme == "file":
        return Address(path=Path(unquote(parts.path))) if parts.path.startswith("/") else None
    host = read_host(url)
    if not port or not host or port == PROXY_PORT:
        return None
    if host == LOCALHOST:
        return Address(local_port=port)
    if _is_literal(host) and classify(host) == "forbidden":
        return None
    return Address(host=format_authority(host, None if port in WEB_PORTS else port))


def read_host(url: str) -> str:
    """Return the host of an HTTP URL in the form of the proxy; empty for one that the proxy refuses."""
    try:
        parts = urlsplit(url)
        name = parts.hostname or ""
        return canonical_host(format_authority(name)) if parts.scheme in _DEFAULT_PORTS else ""
    except ValueError:
        return ""


def may_link(index: str, host: str) -> bool:
    """Return whether files of an index on one host can be on another.

    An index does not open this machine or its network.
    """
    if host == index or not _is_literal(host):
        return host == index or host != LOCALHOST
    if _is_literal(index) and classify(index) == "private":
        return classify(host) != "forbidden"
    return classify(host) == "public"


def _is_literal(host: str) -> bool:
    return ":" in host or host.rpartition(".")[2].isdigit()


def hide_secrets(text: str) -> str:
    """Return the text with each URL in it without user, password, token and query."""
    return _QUERY.sub(r"\1", _CONDA_TOKEN.sub("", _USER.sub("", text)))


def has_secret(text: str) -> bool:
    """Return whether a text that has no user in its URLs still holds a secret."""
    return bool(_KEY_IN_PATH.search(text)) or bool(find_secrets(text.encode("utf-8", "replace")))
