"""The live feed: nothing is lost or sent twice, and a client that does not read blocks no other."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from journal_file import journal_path
from ostler.model.ids import TaskId
from ostler.model.notice import AgentWarned
from ostler.store.sqlite.journal import SqliteJournal
from web_world import Client, serve
from world import World, wait_until

TASK = TaskId("rest")


def record(world: World, count: int, words: str = "") -> None:
    """Record this many notices as another process would, up to a hundred each in its own commit."""
    with SqliteJournal(journal_path(world.root)) as journal:
        for first in range(0, count, max(1, count // 100)):
            left = min(max(1, count // 100), count - first)
            journal.notify(TASK, time.time(), [AgentWarned(f"{words}{first + n}") for n in range(left)])


def written(world: World) -> list[int]:
    with SqliteJournal(journal_path(world.root)) as journal:
        return [line.position for line in journal.feed(0, None, 100_000)]


@pytest.mark.full
def test_a_client_that_comes_back_receives_all_of_it_once(world: World) -> None:
    """Last-Event-ID has its position; in between the server itself was restarted."""
    world.ostler("init")
    record(world, 300)
    server = serve(world, "--view-only")
    with server.stream("/stream?after=0") as stream:
        head = stream.head()
        assert b"content-type: text/event-stream; charset=utf-8" in head
        first = stream.events(250)
    assert server.stop() == 130
    record(world, 30)
    server = serve(world, "--view-only")
    with server.stream("/stream?after=0", Last_Event_ID=str(first[-1][0])) as stream:
        rest = stream.events(80)
        record(world, 250)
        rest += stream.events(250)
    assert [seq for seq, _ in first + rest] == written(world)
    assert all(event["seq"] == seq for seq, event in first + rest)


def test_a_stream_without_a_place_begins_now(world: World) -> None:
    """The stream of one task has no lines of others."""
    world.ostler("init")
    one, other = world.new("One"), world.new("Other")
    server = serve(world, "--view-only")
    with server.stream(f"/stream?task={one}") as stream:
        stream.head()
        server.post(f"/tasks/{other}/pause")
        server.post(f"/tasks/{one}/pause")
        [(_, event)] = stream.events(1)
    assert (event["task_id"], event["type"], event["verb"]) == (one, "decision_recorded", "pause")
    assert server.get("/stream?task=nothing", 404)["code"] == "USAGE"
    assert server.get("/stream?after=x", 400)["code"] == "USAGE"


@pytest.mark.full
def test_stalled_clients_do_not_block_others(world: World) -> None:
    """Others receive everything, tasks run, nothing piles up for them, and the end is quick."""
    world.ostler("init")
    server = serve(world)
    before = resident_mb(server.child.pid)
    with ExitStack() as stack:
        stalled = [stack.enter_context(server.stream("/stream?after=0")) for _ in range(10)]
        stalled[0].head()
        record(world, 10_000, "x" * 1000)
        task = server.post("/tasks", {"title": "Greet"}, 201)["id"]
        wait_until(lambda: server.get(f"/tasks/{task}")["status"] == "completed", 60, "the task is held up")
        with server.stream(f"/stream?after={written(world)[-50]}") as stream:
            stream.head()
            stream.events(49)
        assert resident_mb(server.child.pid) - before < 60
        began = time.monotonic()
        assert server.stop() == 130
        assert time.monotonic() - began < 30


def test_a_stream_ends_with_its_server(world: World) -> None:
    """It is closed properly, so that a browser reconnects."""
    world.ostler("init")
    server = serve(world, "--view-only")
    with server.stream("/stream?after=0") as stream:
        stream.head()
        assert server.stop() == 130
        assert stream.rest().endswith(b"0\r\n\r\n")


def test_the_stream_needs_the_key(world: World) -> None:
    """Like everything else."""
    world.ostler("init")
    server = serve(world, "--view-only")
    with Client(server.port).stream("/stream") as stream:
        assert stream.head()[0].startswith(b"HTTP/1.1 401")


def resident_mb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmRSS"))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("count", [1, 150, 450])
def test_bursts_are_reported_in_order(world: World, count: int) -> None:
    """For any number of lines at once, for clients that are up to date and for one that is not."""
    world.ostler("init")
    server = serve(world, "--view-only")
    with server.stream("/stream?after=0") as early, server.stream("/stream?after=0") as late:
        early.head()
        for _ in range(3):
            record(world, count)
            early.events(count)
        late.head()
        assert [seq for seq, _ in late.events(3 * count)] == written(world)
