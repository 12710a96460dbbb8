"""What the proxy of a sandbox allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from ostler.config import host
from ostler.model.policy.sandbox import Refusal
from ostler.model.usage import Usage

PROXY_PORT = host.PROXY_PORT  # on 127.0.0.1 inside the sandbox, which has a network of its own

Wire = Literal["anthropic", "openai", "gemini", ""]
"""The format of the answers, from which tokens are counted; empty: they are not counted."""


class ModelRoute(Struct, frozen=True):
    """The API of the agent's model; requests to the proxy itself, not through it, are sent there."""

    upstream: str  # base URL
    # Paths below the base URL that are model calls; "*" is any text without a slash: /v1/models/*:generate
    paths: tuple[str, ...]
    read_headers: Callable[[], Mapping[str, str]]  # the credentials; read for each request
    wire: Wire = ""


class NetworkPolicy(Struct, frozen=True):
    """Hosts, the model and local services that a sandbox may connect to."""

    hosts: tuple[str, ...] = ()  # HOST, HOST:PORT or *.DOMAIN
    local_ports: tuple[int, ...] = ()  # 127.0.0.1:PORT inside is 127.0.0.1:PORT of this machine
    model: ModelRoute | None = None


OnRefusal = Callable[[Refusal], None]
CheckUsage = Callable[[str, Usage], str]
"""Receives the model and the tokens of one answer; returns why no further call is allowed, or nothing."""


class Timeouts(Struct, frozen=True):
    """How long a connection to the proxy may take; a tunnel and an answer have no limit."""

    head_seconds: float = 20.0  # from the first byte of a request to the end of its head
    idle_seconds: float = 300.0  # between two requests


TIMEOUTS = Timeouts()
