"""The proxy that this machine uses itself, as in HTTPS_PROXY, HTTP_PROXY and NO_PROXY."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from ostler.text import one_line


class CompanyProxy(Struct, frozen=True):
    """An HTTP proxy outside the sandbox."""

    host: str
    port: int
    tls: bool = False
    authorization: str = ""  # value of Proxy-Authorization

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        return (("Proxy-Authorization", self.authorization),) if self.authorization else ()


def find_company_proxy(scheme: str, host: str, environ: Mapping[str, str]) -> CompanyProxy | None:
    """Return the proxy for a host; None: connect directly; raise OSError for a bad address."""
    settings = _read_settings(environ)
    url = settings.get(scheme) or settings.get("all")
    if not url or _is_excluded(host, settings):
        return None
    return _parse(url, f"{scheme.upper()}_PROXY")


def _read_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by scheme; the name in lower case wins, as in other programs."""
    names = sorted(name for name in environ if name.lower().endswith("_proxy"))  # upper case first
    return {name.lower().removesuffix("_proxy"): environ[name] for name in names}


def _is_excluded(host: str, settings: dict[str, str]) -> bool:
    """Whether NO_PROXY has the host, a domain above it, or a star."""
    entries = (
        entry.strip().lower().lstrip("*.") or entry.strip() for entry in settings.get("no", "").split(",")
    )
    return any(entry in ("*", host) or host.endswith(f".{entry}") for entry in entries if entry)


def _parse(url: str, name: str) -> CompanyProxy:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        port = 0
    if parts.scheme not in ("http", "https") or not parts.hostname or not port:
        raise OSError(f"{name} is not an HTTP proxy ({one_line(parts.scheme)}); set it to http://HOST:PORT")
    return CompanyProxy(
        parts.hostname, port, parts.scheme == "https", _authorization(parts.username, parts.password)
    )


def _authorization(user: str | None, password: str | None) -> str:
    if not user:
        return ""
    pair = f"{unquote(user)}:{unquote(password or '')}"
    return f"Basic {b64encode(pair.encode()).decode()}"
