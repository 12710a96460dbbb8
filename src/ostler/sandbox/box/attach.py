"""How the proxy gets the listening ports of a sandbox."""

from __future__ import annotations

import socket
from collections.abc import Callable

from ostler.sandbox.network.policy import PROXY_PORT

Attach = Callable[[socket.socket], None]
"""Receives the socket over which the entry program sends its listening ports."""


def send_listener(attach: Attach, listener: socket.socket) -> None:
    """Send the port to the proxy as the entry program of other tiers does."""
    ours, theirs = socket.socketpair()
    attach(ours)
    with theirs:
        socket.send_fds(theirs, [b"%d\n" % PROXY_PORT], [listener.fileno()])
