"""What a hostile reviewer did to the server and its neighbours, and what must come of it."""

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
from ostler.web.address import ServerAddress, request_one_time_url, write_address
from web_world import JSON, Served, serve, shared_world
from world import World, wait_until

LIMIT = 20_000_000


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One project for all that change little in it."""
    with shared_world(tmp_path_factory.mktemp("hostile")) as made:
        yield made


@pytest.fixture(scope="module")
def server(place: World) -> Served:
    return serve(place, "--view-only")


@pytest.mark.parametrize("body", [b"[" * 500_000, b'{"title": ' + b"[" * 5000 + b"]" * 5000 + b"}"])
def test_json_that_is_too_deep_is_a_mistake_of_the_client(place: World, server: Served, body: bytes) -> None:
    """It is told so, and no bug is reported."""
    answer = server.ask("POST", "/api/v1/tasks", body, **JSON)
    assert (answer.status, answer.json["code"]) == (400, "USAGE")
    assert not (place.root / ".ostler" / "bugs.log").exists()


def test_a_number_without_an_end_is_no_bug_of_ours(place: World, server: Served) -> None:
    """An attempt whose number no computer would read."""
    task = place.new("Count")
    answer = server.ask("GET", f"/api/v1/tasks/{task}/attempts/{'9' * 5000}/story")
    assert answer.status == 414
    assert server.ask("GET", f"/api/v1/tasks/{task}/attempts/{'9' * 500}/story").status == 404


def test_a_download_that_is_broken_off_leaves_no_open_file(place: World, server: Served) -> None:
    """However many clients hang up in the middle."""
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
    """What it answers is printed to nobody."""

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
        write_address(layout, ServerAddress(1, "127.0.0.1", stranger.server_port, "secret", True))
        found = request_one_time_url(layout, None, runs_tasks=True)
        stranger.shutdown()
    assert found is None


def test_a_broken_note_stands_in_nobodys_way(tmp_path: Path) -> None:
    """Not even one with line ends in its key."""
    layout = Layout(tmp_path)
    layout.state.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        write_address(layout, ServerAddress(1, "127.0.0.1", taken.getsockname()[1], "a\r\nb: c", True))
        assert request_one_time_url(layout, None, runs_tasks=True) is None


def test_run_says_why_a_task_cannot_be_run(world: World) -> None:
    """As the command does, with its code: the dashboard has no other way to know."""
    world.ostler("init")
    task = world.new("Greet")
    world.environ["OSTLER_CLAUDE_PATH"] = str(world.root / "missing")
    server = serve(world)
    refused = server.post(f"/tasks/{task}/run", {}, 409)
    told = json.loads(world.ostler("run", task, "--json", code=None).stdout.splitlines()[-1])
    assert refused == told and refused["code"] == "AGENT_NOT_FOUND"
    assert server.get(f"/tasks/{task}")["status"] == "pending"
    wait_until(lambda: server.get("/session")["problems"], 20, "nobody says why it waits")
    assert server.get("/session")["problems"] == [f"{told['message']}  Next: {told['hint']}"]
    assert server.stop() == 130
    assert f"{told['message']}  Next: {told['hint']}" in (world.root.parent / "err.txt").read_text()


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
def test_a_model_cannot_submit_what_a_person_cannot(world: World, arguments: dict[str, object]) -> None:
    """A character that no program takes, or money without end."""
    world.ostler("init")

    async def conversation(client: object) -> str:
        result = await client.call_tool("submit", {"title": "x", **arguments})  # type: ignore[attr-defined]
        assert result.is_error
        return text_of(result)

    assert talk(world, conversation).startswith("USAGE: submit: ")
    assert world.json("status")["tasks"] == []


def test_an_agent_does_not_let_itself_through_its_gate(world: World) -> None:
    """It may ask for a person; the word is theirs, whatever it takes out of its own environment."""
    (world.root / "ostler.toml").write_text('[gates]\ndefault = "human"\n')
    said = world.root.parent / "said.txt"
    ostler = f"{sys.executable} -m ostler"
    bare = f"env -u OSTLER_TASK -u OSTLER_ATTEMPT {ostler}"
    world.behave(
        script=f"({ostler} skip $OSTLER_TASK --phase implement --reason mine;"
        f" {bare} skip $OSTLER_TASK --phase implement --reason mine;"
        f" {bare} approve $OSTLER_TASK; {ostler} reject $OSTLER_TASK -m no;"
        f" {bare} cancel $OSTLER_TASK; {ostler} pause $OSTLER_TASK; {bare} resume $OSTLER_TASK -m x;"
        f" {ostler} retry $OSTLER_TASK --budget-usd 9; {bare} rewind $OSTLER_TASK --to implement) 2> {said}"
    )
    task = world.new("Greet", "--weight", "trivial")
    world.ostler("run", task, code=4)
    assert said.read_text().count("only a person can decide about tasks") == 9
    assert world.show(task)["status"] == "needs_review"
    world.ostler("approve", task)
