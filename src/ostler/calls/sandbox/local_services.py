"""Finds refused connections to services of this machine in the output of programs.

Inside, no one listens on a port that is not allowed, so a program reports a refused connection itself.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

from ostler.config.host import LOCALHOST, describe_setting, format_authority
from ostler.model.call import AccessRefused, AgentEvent, ToolReturned
from ostler.model.policy.sandbox import Refusal
from ostler.sandbox.box.box import Box
from ostler.sandbox.network.rules import LOOPBACK_ADDRESSES

_MAX_TEXT, _MAX_LINE = 400_000, 2_000
_MAX_PORTS = 20  # that are tried, per output
_SECONDS = 0.2
_REFUSED = re.compile(r"refused|(?:could ?n[o']t|cannot|can't|failed to) connect", re.IGNORECASE)
_HOST = r"(?:localhost|127\.0\.0\.1|::1)"
_PORT = re.compile(
    rf"""(?<![\w.]){_HOST}[\]"'\s,:]+(?:\({_HOST}\)[\s,]*)?(?:port[\s:=]*)?(\d{{1,5}})(?![\w.]\w)""",
    re.IGNORECASE,
)


class LocalRefusals:
    """Reads the events of one attempt, and yields each service once."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self._found: set[Refusal] = set()

    def read(self, event: AgentEvent) -> Iterator[AccessRefused]:
        """Yield the services that the result of a tool reports as refused."""
        found = find_local_refusals(event.text, self._box) if isinstance(event, ToolReturned) else ()
        for one in found:
            if one not in self._found:
                self._found.add(one)
                yield AccessRefused("network", one.target, one.setting)


def find_local_refusals(text: str, box: Box) -> tuple[Refusal, ...]:
    """Return the services that run outside and that a program inside could not connect to."""
    if box.network != "proxy":
        return ()
    ports = dict.fromkeys(port for port in _list_ports(text) if port not in box.local_ports)
    return tuple(_refuse(port) for port in [*ports][:_MAX_PORTS] if _is_open(port))


def _list_ports(text: str) -> Iterator[int]:
    for line in text[-_MAX_TEXT:].splitlines():
        if len(line) <= _MAX_LINE and _REFUSED.search(line):
            yield from (int(found) for found in _PORT.findall(line) if 0 < int(found) < 65536)


def _is_open(port: int) -> bool:
    return any(_connect(address, port) for address in LOOPBACK_ADDRESSES)


def _connect(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), _SECONDS):
            return True
    except OSError:
        return False


def _refuse(port: int) -> Refusal:
    return Refusal("network", format_authority(LOCALHOST, port), describe_setting(LOCALHOST, port))
