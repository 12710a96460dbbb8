"""Refused connections to services of this machine, found in the output of programs."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ostler.calls.sandbox.local_services import LocalRefusals, find_local_refusals
from ostler.model.call import AccessRefused, ToolReturned
from ostler.sandbox.box.box import Box

BOX = Box(Path("/w"), Path("/h"), Path("/home/ada"))


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize(
    "line",
    [
        "curl: (7) Failed to connect to localhost port {port} after 0 ms: Couldn't connect to server",
        'connection to server at "localhost" (127.0.0.1), port {port} failed: Connection refused',
        'psql: error: connection to server at "127.0.0.1", port {port} failed: Connection refused',
        "Error: connect ECONNREFUSED 127.0.0.1:{port}",
        "Error: connect ECONNREFUSED ::1:{port}",
        "dial tcp [::1]:{port}: connect: connection refused",
        "Error 111 connecting to localhost:{port}. Connection refused.",
        "HTTPConnectionPool(host='localhost', port={port}): Max retries (Connection refused)",
    ],
)
def test_texts_of_programs(port: int, line: str) -> None:
    (found,) = find_local_refusals(f"before\n{line.format(port=port)}\nafter", BOX)
    assert (found.kind, found.target) == ("network", f"localhost:{port}")
    assert found.setting == f'sandbox.allow_hosts = ["localhost:{port}"]'


def test_what_is_no_refusal(port: int) -> None:
    """A port without a service, an allowed one, another host, a text without an error, other networks."""
    line = f"connect ECONNREFUSED 127.0.0.1:{port}"
    assert find_local_refusals(line, BOX)
    assert not find_local_refusals("connect ECONNREFUSED 127.0.0.1:1", BOX)
    assert not find_local_refusals("connect ECONNREFUSED 127.0.0.1:99999", BOX)
    assert not find_local_refusals(line, replace(BOX, local_ports=(port,)))
    assert not find_local_refusals(f"connect ECONNREFUSED 10.127.0.0.1:{port}", BOX)
    assert not find_local_refusals(f"listening on 127.0.0.1:{port}", BOX)
    assert not find_local_refusals(line, replace(BOX, network="on"))


def test_an_attempt_reports_each_service_once(port: int) -> None:
    refusals = LocalRefusals(BOX)
    returned = ToolReturned("1", f"connect ECONNREFUSED 127.0.0.1:{port}", failed=True)
    found = [one for _ in range(3) for one in refusals.read(returned)]
    assert found == [
        AccessRefused("network", f"localhost:{port}", f'sandbox.allow_hosts = ["localhost:{port}"]')
    ]
