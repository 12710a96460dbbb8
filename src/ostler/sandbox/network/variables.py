"""The variables that send the connections of a program to the proxy of its sandbox."""

from __future__ import annotations

from collections.abc import Mapping

_DIRECT = "127.0.0.1,localhost,::1"


def set_proxy(env: Mapping[str, str], url: str) -> dict[str, str]:
    """Return the variables with this proxy in both spellings, and without the proxies of the user."""
    others = {name: value for name, value in env.items() if not name.upper().endswith("_PROXY")}
    values = {"HTTP_PROXY": url, "HTTPS_PROXY": url, "NO_PROXY": _DIRECT}
    spelled = {spelling(name): value for name, value in values.items() for spelling in (str.upper, str.lower)}
    return {**others, **spelled, "NODE_USE_ENV_PROXY": "1"}
