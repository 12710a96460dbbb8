"""The variables of a program inside its sandbox."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from ostler.model.policy.sandbox import TIER_VARIABLE, Network, Tier
from ostler.sandbox.network.policy import PROXY_PORT

_TMP = "/tmp"  # noqa: S108  (a private one)
# Directories and sockets outside; the defaults below the private home directory are used instead.
_OUTSIDE = ("XDG_*", "TMP", "TEMP", "SSH_*", "DBUS_*", "GPG_*", "WAYLAND_*", "DISPLAY", "*_PROXY", "*_proxy")


def format_proxy_url(port: int) -> str:
    """Return the address of the proxy inside a sandbox."""
    return f"http://127.0.0.1:{port}"


def build_inner_environment(
    env: Mapping[str, str],
    tier: Tier,
    network: Network,
    programs: Iterable[Path] = (),
    port: int = PROXY_PORT,
) -> dict[str, str]:
    """Return the variables of a program, changed for the inside; `programs` are first in PATH."""
    kept = {name: value for name, value in env.items() if not _is_outside(name, network)}
    proxy = _proxy_variables(port) if network == "proxy" else {}
    path = os.pathsep.join((*map(str, programs), env.get("PATH", os.defpath)))
    return {**kept, "PATH": path, "TMPDIR": _TMP, TIER_VARIABLE: tier, **proxy}


def _is_outside(name: str, network: Network) -> bool:
    if network == "on" and name.lower().endswith("_proxy"):
        return False
    return any(fnmatchcase(name, pattern) for pattern in _OUTSIDE)


def _proxy_variables(port: int) -> dict[str, str]:
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    values = {**dict.fromkeys(names, format_proxy_url(port)), "NO_PROXY": "127.0.0.1,localhost,::1"}
    # Node uses its proxy variables only when this is set.
    return {**values, **{name.lower(): value for name, value in values.items()}, "NODE_USE_ENV_PROXY": "1"}
