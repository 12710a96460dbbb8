"""The address of a project's server."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from msgspec.structs import replace

from ostler.errors import UsageError
from ostler.files.layout import Layout
from ostler.web.address import (
    ServerAddress,
    address_file,
    listen,
    remove_address,
    request_one_time_url,
    write_address,
)

HERE = ServerAddress(1, "127.0.0.1", 1, "secret", True)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / ".ostler").mkdir()
    return Layout(tmp_path)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org", "127.0.0.2"])
def test_other_machines_are_never_let_in(host: str) -> None:
    """The settings cannot enable it."""
    with pytest.raises(UsageError, match="would allow connections from other machines"):
        listen(host, 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is(host: str) -> None:
    """By either name; port 0 selects a free port."""
    with listen(host, 0) as taken:
        assert taken.getsockname()[0] == "127.0.0.1"
        assert taken.getsockname()[1] > 0


def test_addresses_are_written_as_browsers_read_them() -> None:
    """Also for a host with colons."""
    assert HERE.url == "http://127.0.0.1:1"
    assert replace(HERE, host="::1").url == "http://[::1]:1"


def test_a_stale_note_gives_no_address(layout: Layout) -> None:
    """A note of another port, of a read-only server, or a broken one gives no address either."""
    assert request_one_time_url(address_file(layout), None, runs_tasks=False) is None
    write_address(address_file(layout), HERE)
    assert request_one_time_url(address_file(layout), None, runs_tasks=False) is None
    assert request_one_time_url(address_file(layout), 2, runs_tasks=False) is None
    write_address(address_file(layout), replace(HERE, runs_tasks=False))
    assert request_one_time_url(address_file(layout), 1, runs_tasks=True) is None
    (layout.state / "server.json").write_text("{")
    assert request_one_time_url(address_file(layout), None, runs_tasks=False) is None


def test_only_our_own_note_is_taken_away(layout: Layout) -> None:
    """The note of a server that started later is kept."""
    write_address(address_file(layout), replace(HERE, port=2))
    remove_address(address_file(layout), HERE)
    assert (layout.state / "server.json").exists()
    remove_address(address_file(layout), replace(HERE, port=2))
    assert not (layout.state / "server.json").exists()
    remove_address(address_file(layout), HERE)


def test_what_a_connection_sends_is_not_held_back() -> None:
    """A body that follows its header at once would wait up to 40 ms for the client's acknowledgement."""
    with listen("127.0.0.1", 0) as server, socket.create_connection(server.getsockname()):
        connection, _ = server.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
