"""What is specific to one agent in a sandbox.

An agent that takes the address of its model gets that of the proxy, and placeholders instead of keys: the
proxy adds the keys. Every other agent gets its keys as without a sandbox, and `sandbox.allow_hosts` must name
the hosts that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from ostler.sandbox.home.contents import HomeContents
from ostler.sandbox.network.policy import ModelRoute

PLACEHOLDER = "ostler-placeholder"  # instead of each key in the sandbox


class Outside(Struct, frozen=True):
    """The start of an agent as it would be without a sandbox."""

    env: Mapping[str, str]  # complete, with the variables of the settings
    args: tuple[str, ...] = ()  # of the settings
    model: str = ""
    cwd: str = "."

    @property
    def home(self) -> Path:
        """The user's home directory, on this machine and in the sandbox."""
        return Path(self.env.get("HOME") or "/")


class Login(Struct, frozen=True):
    """A login whose token the agent's own program renews."""

    expires_at: Callable[[], float | None]  # seconds since 1970, read each time; None: it does not expire
    refresh: tuple[str, ...] = ()  # arguments of the cheapest command that renews it; empty: there is none


class ModelAccess(Struct, frozen=True):
    """The calls of one model through the proxy."""

    route: ModelRoute
    env: Mapping[str, str]  # variables in the sandbox: the address of the proxy and placeholders
    removed: tuple[str, ...] = ()  # variables that the sandbox does not get
    arguments: tuple[str, ...] = ()
    settings: Mapping[str, Any] = {}  # of its settings file
    files: Mapping[str, bytes] = {}  # below the home directory: a login with a placeholder
    login: Login | None = None


class SandboxNeeds(Struct, frozen=True):
    """What one agent needs in a sandbox."""

    contents: Callable[[Outside, ModelAccess | None], HomeContents]  # the files of its home directory
    find_access: Callable[
        [Outside, str], ModelAccess | None
    ]  # with the address of the proxy; None: keys go in
    env: dict[str, str] = {}  # variables that are set in every sandbox
    removed: tuple[str, ...] = ()  # variables that move its files out of the home directory
    logins: tuple[str, ...] = ()  # files with keys, which are copied only when keys go in


def without_access(outside: Outside, url: str) -> None:
    """Return None: the agent takes no address of its model."""
    del outside, url
