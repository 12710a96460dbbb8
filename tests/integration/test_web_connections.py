"""Slow, idle and many connections keep nobody out, and clients that do not read delay nobody."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event

import pytest

from in_process_server import connect, is_closed, serve_in_process
from journal_file import journal_path
from ostler.model.ids import TaskId
from ostler.model.notice import AgentWarned
from ostler.store.sqlite.journal import SqliteJournal
from ostler.web import connections
from ostler.web.routes import events
from ostler.web.server import WebServer
from web_world import JSON, Client
from world import wait_until

SECONDS = 0.4  # instead of the real 10
SLOW = {
    "nothing": (b"", b""),
    "half a header": (b"GET / HTTP/1.1\r\nHost: x\r\n", b"X-A: b\r\n"),
    "half a second header": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n", b"X-A: b\r\n"),
    "the body of a refused request": (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n", b"{"),
}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[WebServer, Client]]:
    monkeypatch.setattr(connections, "HEADER_SECONDS", SECONDS)
    with serve_in_process(tmp_path / "project") as served:
        yield served


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_connection_is_closed(served: tuple[WebServer, Client], name: str) -> None:
    """After its time, though it sends a little again and again; others are answered meanwhile."""
    _, client = served
    first, more = SLOW[name]
    began = time.monotonic()
    with connect(client.port, first) as slow:
        while not is_closed(slow):
            assert time.monotonic() - began < 20, f"{name}: still open"
            try:
                slow.send(more)
            except OSError:
                break
            client.get("/session")
        assert time.monotonic() - began > SECONDS / 2


def test_a_stream_and_a_connection_that_is_used_again_stay_open(served: tuple[WebServer, Client]) -> None:
    """The limit is for headers, not for answers; it counts anew for each request."""
    _, client = served
    used = http.client.HTTPConnection("127.0.0.1", client.port, timeout=30)
    with closing(used), client.stream("/stream") as stream:
        stream.head()
        used.connect()
        first = used.sock
        until = time.monotonic() + 3 * SECONDS
        while time.monotonic() < until:
            used.request("GET", "/")
            answer = used.getresponse()
            assert answer.read() and answer.status == 401
            time.sleep(0.02)
        assert used.sock is first
        task = client.post("/tasks", {"title": "x"}, 201)["id"]
        assert stream.events(1)[0][1]["task_id"] == task


def test_idle_connections_make_room(
    served: tuple[WebServer, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the limit the one that is idle longest is closed; a stream is not."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 8)
    monkeypatch.setattr(connections, "HEADER_SECONDS", 60.0)
    _, client = served
    with ExitStack() as stack, client.stream("/stream") as stream:
        stream.head()
        idle = [stack.enter_context(connect(client.port)) for _ in range(20)]
        assert client.get("/session")["project"] == "project"
        wait_until(lambda: is_closed(idle[0]), 20, "the oldest is still open")
        assert not is_closed(idle[-1])
        client.post("/tasks", {"title": "x"}, 201)
        assert stream.events(1)


def test_streams_leave_connections_for_others(
    served: tuple[WebServer, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above their limit a stream is refused with what to do; one that ends makes room."""
    monkeypatch.setattr(events, "_MOST_STREAMS", 2)
    server, client = served
    with ExitStack() as stack:
        for count in (1, 2):
            stack.enter_context(client.stream("/stream")).head()
            wait_until(lambda: server.site.broadcaster.streams == count, 20, "it is not counted")  # noqa: B023
        assert "poll GET /events" in client.get("/stream", 503)["hint"]
    wait_until(lambda: server.site.broadcaster.streams == 0, 20, "they are still counted")


def test_a_slow_body_is_refused(served: tuple[WebServer, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a client with the token."""
    monkeypatch.setattr("ostler.web.requests._BODY_SECONDS", SECONDS)
    _, client = served
    head = f"POST /api/v1/tasks HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nContent-Length: 10\r\n"
    kind = f"Authorization: Bearer {client.token}\r\nContent-Type: {JSON['Content-Type']}\r\n\r\n{{"
    with connect(client.port, (head + kind).encode()) as slow:
        assert slow.recv(100).startswith(b"HTTP/1.1 408")


CLIENTS, LINES = 200, 10_000


@pytest.mark.full
def test_200_stalled_clients_do_not_delay_the_api(tmp_path: Path) -> None:
    """While they catch up and while events arrive, 95 % of requests and of the loop's delays are < 100 ms."""
    with serve_in_process(tmp_path / "project") as (server, client), ExitStack() as stack:
        record(tmp_path / "project", LINES)
        head = f"Host: 127.0.0.1:{client.port}\r\nAuthorization: Bearer {client.token}\r\n\r\n"
        request = f"GET /api/v1/stream?after=0 HTTP/1.1\r\n{head}".encode()
        stalled = [stack.enter_context(connect(client.port, request)) for _ in range(CLIENTS)]
        delays = [measure(server, client) for _ in range(100)]
        for _ in range(10):
            record(tmp_path / "project", 100)
            delays += [measure(server, client) for _ in range(10)]
        assert len(stalled) == CLIENTS and not any(is_closed(one) for one in stalled)
        api, loop = ([pair[at] for pair in delays] for at in (0, 1))
        print(f"API: {describe(api)}; loop: {describe(loop)}")
        assert (share(api), share(loop)) < (0.1, 0.1)


def record(root: Path, count: int) -> None:
    with SqliteJournal(journal_path(root)) as journal:
        for _ in range(0, count, 100):
            lines = [AgentWarned(f"{'x' * 500}{number}") for number in range(100)]
            journal.notify(TaskId("rest"), time.time(), lines)


def measure(server: WebServer, client: Client) -> tuple[float, float]:
    """Return the seconds of a request, and those until the event loop calls a function."""
    began, called = time.perf_counter(), Event()
    client.get("/session")
    between = time.perf_counter()
    server.call_soon(called.set)
    assert called.wait(60)
    return between - began, time.perf_counter() - between


def share(seconds: list[float]) -> float:
    """Return the 95th percentile."""
    return sorted(seconds)[int(len(seconds) * 0.95)]


def describe(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    median, most = ordered[len(ordered) // 2], ordered[-1]
    return f"median {1000 * median:.1f}, 95 % {1000 * share(seconds):.1f}, most {1000 * most:.1f} ms"
