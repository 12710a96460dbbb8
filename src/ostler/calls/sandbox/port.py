"""The port of the proxy inside a sandbox."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct

from ostler.sandbox.box.tiers import ChosenTier
from ostler.sandbox.network.policy import PROXY_PORT


class Port(Struct, frozen=True):
    """The port of the proxy inside a sandbox."""

    number: int = PROXY_PORT
    listener: socket.socket | None = None  # of this machine; None: the sandbox has a network of its own


@contextmanager
def open_port(chosen: ChosenTier) -> Generator[Port]:
    """Choose the port; attempts of a tier without a network of its own need different ones."""
    if chosen.tier != "landlock":
        yield Port()
        return
    from ostler.sandbox.box.landlock import open_listener  # noqa: PLC0415  (imported on use)

    with open_listener() as listener:
        yield Port(listener.getsockname()[1], listener)
