"""Addresses of package indexes: the host, the local port or the directory that a URL leads to."""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from ostler.secrets.find import find_secrets

_DEFAULT_PORTS = {"http": 80, "https": 443}
_USER = re.compile(r"(?<=://)[^/?#\s@]*(?:@[^/?#\s@]*)*@")
_CONDA_TOKEN = re.compile(r"(?<=/)t/(?=[^/\s]*\d)[^/\s]{12,}/")
_QUERY = re.compile(r"(://[^\s?#]*)\?[^\s#]*")
# A part of a path that is letters and digits without a word: a key, not a name.
_KEY_IN_PATH = re.compile(r"/(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9_]{20,}(?=/|\s|$)")


class Address(Struct, frozen=True):
    """Where a URL leads: exactly one of the fields is set."""

    host: str = ""  # HOST or HOST:PORT
    local_port: int = 0
    path: Path | None = None


def read_address(url: str) -> Address | None:
    """Return where a URL leads; None if it is neither HTTP nor a local file."""
    try:
        parts = urlsplit(url)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if parts.scheme == "file":
        return Address(path=Path(unquote(parts.path))) if parts.path.startswith("/") else None
    if parts.scheme not in _DEFAULT_PORTS or not name:
        return None
    if is_loopback(name):
        return Address(local_port=port or _DEFAULT_PORTS[parts.scheme])
    shown = f"[{name}]" if ":" in name else name
    return Address(host=f"{shown}:{port}" if port else shown)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def is_internal(host: str) -> bool:
    """Return whether a host is this machine, or an address that only a network of this machine has."""
    if is_loopback(host):
        return True
    try:
        return not ip_address(host).is_global
    except ValueError:
        return False


def hide_secrets(text: str) -> str:
    """Return the text with each URL in it without user, password, token and query."""
    return _QUERY.sub(r"\1", _CONDA_TOKEN.sub("", _USER.sub("", text)))


def has_secret(text: str) -> bool:
    """Return whether a text that has no user in its URLs still holds a secret."""
    return bool(_KEY_IN_PATH.search(text)) or bool(find_secrets(text.encode("utf-8", "replace")))
