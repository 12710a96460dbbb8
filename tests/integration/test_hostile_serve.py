"""Attacks of a hostile reviewer on the server and related commands, and the required results."""

from __future__ import annotations

import http.server
import json
import os
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_world import talk, text_of
from ostler.files.layout import Layout
from ostler.web.address import ServerAddress, address_file, request_one_time_url, write_address
from web_world import JSON, Served, serve, shared_world
from world import World, wait_until

LIMIT = 20_000_000


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One project for all tests that change little in it."""
    with shared_world(tmp_path_factory.mktemp("hostile")) as made:
        yield made


@pytest.fixture(scope="module")
def server(place: World) -> Served:
    return serve(place, "--view-only")


@pytest.mark.parametrize("body", [b"[" * 500_000, b'{"title": ' + b"[" * 5000 + b"]" * 5000 + b"}"])
def test_json_that_is_too_deep_is_a_mistake_of_the_client(place: World, server: Served, body: bytes) -> None:
    """The client gets this error, and no bug is reported."""
    answer = server.ask("POST", "/api/v1/tasks", body, **JSON)
    assert (answer.status, answer.json["code"]) == (400, "USAGE")
    assert not (place.root / ".ostler" / "bugs.log").exists()


def test_a_number_without_an_end_is_no_bug_of_ours(place: World, server: Served) -> None:
    """The number of the attempt is too large to parse."""
    task = place.new("Count")
    answer = server.ask("GET", f"/api/v1/tasks/{task}/attempts/{'9' * 5000}/log")
    assert answer.status == 414
    assert server.ask("GET", f"/api/v1/tasks/{task}/attempts/{'9' * 500}/log").status == 404


def test_a_download_that_is_broken_off_leaves_no_open_file(place: World, server: Served) -> None:
    """For any number of clients that disconnect in the middle."""
    task = place.new("Look")
    large = place.root / ".ostler" / "tasks" / task / "large.bin"
    with large.open("wb") as file:
        file.truncate(LIMIT)
    head = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n\r\n"
    for _ in range(30):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as plain:
            plain.sendall(f"GET /api/v1/tasks/{task}/files/large.bin HTTP/1.1\r\n{head}".encode())
            plain.recv(10)
    wait_until(lambda: open_files(server.child.pid).count(str(large)) == 0, 20, "files are left open")


def open_files(pid: int) -> list[str]:
    found: list[str] = []
    for one in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(os.readlink(one))
        except FileNotFoundError:
            continue
    return found


@pytest.mark.parametrize("url", ["http://evil.test/open?key=x", "http://127.0.0.1:{port}/open?key=\x1b]0;x"])
def test_another_program_on_the_port_of_a_dead_server_is_not_believed(tmp_path: Path, url: str) -> None:
    """Its answer is not printed."""

    class Stranger(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.dumps({"url": url.format(port=self.server.server_address[1])}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    layout = Layout(tmp_path)
    layout.state.mkdir()
    with http.server.HTTPServer(("127.0.0.1", 0), Stranger) as stranger:
        threading.Thread(target=stranger.serve_forever, daemon=True).start()
        write_address(
            address_file(layout), ServerAddress(1, "127.0.0.1", stranger.server_port, "secret", True)
        )
        found = request_one_time_url(address_file(layout), None, runs_tasks=True)
        stranger.shutdown()
    assert found is None


def test_a_broken_note_blocks_no_start(tmp_path: Path) -> None:
    """Also with line ends in its key."""
    layout = Layout(tmp_path)
    layout.state.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        write_address(
            address_file(layout), ServerAddress(1, "127.0.0.1", taken.getsockname()[1], "a\r\nb: c", True)
        )
        assert request_one_time_url(address_file(layout), None, runs_tasks=True) is None


def test_run_shows_why_a_task_cannot_be_run(world: World) -> None:
    """The same reason and code as the command: the dashboard has no other source."""
    world.ostler("init")
    task = world.new("Greet")
    world.environ["OSTLER_CLAUDE_PATH"] = str(world.root / "missing")
    server = serve(world)
    refused = server.post(f"/tasks/{task}/run", {}, 409)
    reported = json.loads(world.ostler("run", task, "--json", code=None).stdout.splitlines()[-1])
    assert refused == reported and refused["code"] == "AGENT_NOT_FOUND"
    assert server.get(f"/tasks/{task}")["status"] == "pending"
    wait_until(lambda: server.get("/session")["problems"], 20, "the reason of the wait is not reported")
    assert server.get("/session")["problems"] == [f"{reported['message']}  Next: {reported['hint']}"]
    assert server.stop() == 130
    assert f"{reported['message']}  Next: {reported['hint']}" in (world.root.parent / "err.txt").read_text()


def test_an_export_never_takes_the_place_of_a_device(world: World) -> None:
    """A pipe gets the record and stays a pipe; a link still leads to its file."""
    world.ostler("init")
    task, pipe, link = world.new("Greet"), world.root.parent / "pipe", world.root.parent / "link"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        world.ostler("export", task, "-o", str(pipe))
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        assert os.read(reader, 100).startswith(b'{"schema":"ostler.export/1"')
    finally:
        os.close(reader)
    link.symlink_to(world.root.parent / "real")
    world.ostler("export", task, "-o", str(link))
    assert link.is_symlink() and link.read_bytes().startswith(b'{"schema":"ostler.export/1"')


@pytest.mark.parametrize(
    "arguments", [{"title": "x\0y"}, {"title": "x", "body": "a\0b"}, {"budget_usd": 1e300}]
)
@pytest.mark.sampled(1)
def test_a_model_cannot_submit_what_a_person_cannot(world: World, arguments: dict[str, object]) -> None:
    """A character that no program accepts, or an infinite amount of money."""
    world.ostler("init")

    async def conversation(client: object) -> str:
        result = await client.call_tool("submit", {"title": "x", **arguments})  # type: ignore[attr-defined]
        assert result.is_error
        return text_of(result)

    assert talk(world, conversation).startswith("USAGE: submit: ")
    assert world.json("status")["tasks"] == []


def test_an_agent_does_not_let_itself_through_its_gate(world: World) -> None:
    """It may request a review, but only a person decides, also if it changes its own environment."""
    (world.root / "ostler.toml").write_text('[gates]\ndefault = "human"\n')
    printed = world.root.parent / "said.txt"
    ostler = f"{sys.executable} -m ostler"
    bare = f"env -u OSTLER_TASK -u OSTLER_ATTEMPT {ostler}"
    world.behave(
        script=f"({ostler} skip $OSTLER_TASK --phase implement --reason mine;"
        f" {bare} skip $OSTLER_TASK --phase implement --reason mine;"
        f" {bare} approve $OSTLER_TASK; {ostler} reject $OSTLER_TASK -m no;"
        f" {bare} cancel $OSTLER_TASK; {ostler} pause $OSTLER_TASK; {bare} resume $OSTLER_TASK -m x;"
        f" {ostler} retry $OSTLER_TASK --budget-usd 9; "
        f" {bare} rewind $OSTLER_TASK --to implement) 2> {printed}"
    )
    task = world.new("Greet", "--weight", "trivial")
    world.ostler("run", task, code=4)
    assert printed.read_text().count("only a person can use ostler") == 9
    assert world.show(task)["status"] == "needs_review"
    world.ostler("approve", task)
