"""P12: how soon 50 clients receive what 8 streaming agents do, and what a client that does not read costs.

Ours: the agents run under a worker, the server is another process and reads the journal. Baseline: a bare
starlette server reads the same agents itself and keeps nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

from caller import Caller
from feed_baseline import AGENTS, EVENTS, serve_bare, write_agent
from measure import MILLISECONDS, PER_SECOND, Result, interleave, ratio, scratch, show
from ostler.model.ids import TaskId
from ostler.model.notice import AgentWarned
from ostler.project.project import Project
from ostler.web.address import listen
from ostler.web.server import WebServer

CLIENTS, ROUNDS, INGEST_ROUNDS, INGESTED = 50, 5, 9, 1000
TASK = TaskId("bench")


def measure() -> list[Result]:
    with scratch() as place:
        agent, numbers = write_agent(place / "agent"), count()

        def project() -> Path:
            root = place / f"project-{next(numbers)}"
            root.mkdir()
            return root

        late, late_bare = interleave(
            lambda: asyncio.run(feed_delay("ours", project(), agent)),
            lambda: asyncio.run(feed_delay("bare", project(), agent)),
            rounds=ROUNDS,
        )
        held, free = interleave(
            lambda: ingest(project(), 1), lambda: ingest(project(), 0), rounds=INGEST_ROUNDS
        )
    name = f"{CLIENTS} clients, 100 events/s, {AGENTS} agents: p99 / bare starlette"
    return [
        ratio("P12", name, late, late_bare, "<= 3", MILLISECONDS),
        ratio("P12", "lines written with a stalled client / without", held, free, ">= 0.95", PER_SECOND, max),
    ]


async def feed_delay(which: str, root: Path, agent: Path) -> float:
    """The 99th percentile of the seconds from the agent's line to the client, over all clients."""
    server = start(which, root, agent)
    assert server.stdout is not None and server.stdin is not None
    port, token = json.loads(server.stdout.readline())
    delays: list[float] = []
    try:
        clients = [asyncio.create_task(receive(port, token, delays)) for _ in range(CLIENTS)]
        await asyncio.sleep(0.5)
        if which == "ours":
            worker = start("agents", root, agent)
            assert await asyncio.to_thread(worker.wait) == 0
        await asyncio.wait_for(asyncio.gather(*clients), 60)
    finally:
        server.stdin.close()
        server.wait(30)
    assert len(delays) == CLIENTS * EVENTS
    return sorted(delays)[len(delays) * 99 // 100]


def start(which: str, root: Path, agent: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, which, str(root), str(agent)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def receive(port: int, token: str, delays: list[float]) -> None:
    """One client: read until every tool use of every agent has arrived."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request(port, token))
    received = 0
    while received < EVENTS:
        line = await reader.readline()
        assert line, f"the server closed the stream after {received} events"
        if line.startswith(b"data: ") and (event := json.loads(line[6:])).get("type") == "tool_used":
            delays.append(time.time() - float(event["detail"]))
            received += 1
    writer.close()


def request(port: int, token: str, query: str = "") -> bytes:
    key = f"Authorization: Bearer {token}"
    return f"GET /api/v1/stream{query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{key}\r\n\r\n".encode()


def serve_ours(root: Path) -> None:
    with Project.open(root, os.environ, create=True) as project:
        web = WebServer(project, listen("127.0.0.1", 0), os.environ, runs_tasks=False)
        print(json.dumps([port_of(web), web.site.keys.token]), flush=True)
        sys.stdin.read()
        web.close()


async def run_agents(root: Path, agent: Path) -> None:
    """The worker: 8 calls at once."""
    caller = Caller(root, "claude", agent, slots=AGENTS)
    await asyncio.gather(*(caller.call() for _ in range(AGENTS)))
    await caller.close()


def ingest(root: Path, stalled: int) -> float:
    """Lines written per second in the process of a server whose clients never read."""
    with Project.open(root, {}, create=True) as project:
        web = WebServer(project, listen("127.0.0.1", 0), {}, runs_tasks=False)
        clients = [connect_stalled(port_of(web), web.site.keys.token) for _ in range(stalled)]
        project.journal.notify(TASK, 0.0, [AgentWarned("x" * 8000)] * 1000)  # more than a socket takes
        time.sleep(1)
        for client in clients:
            assert client.recv(1, socket.MSG_PEEK), "the server sent the stalled client nothing"
        began = time.perf_counter()
        for _ in range(INGESTED):
            project.journal.notify(TASK, 0.0, [AgentWarned("x" * 500)])
        took = time.perf_counter() - began
        for client in clients:
            client.close()
        web.close()
    return INGESTED / took


def connect_stalled(port: int, token: str) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(10)
    client.connect(("127.0.0.1", port))
    client.sendall(request(port, token, "?after=0"))
    return client


def port_of(web: WebServer) -> int:
    return int(web.site.address.rpartition(":")[2])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ours", root, _]:
            serve_ours(Path(root))
        case ["agents", root, agent]:
            asyncio.run(run_agents(Path(root), Path(agent)))
        case ["bare", _, agent]:
            serve_bare(Path(agent), CLIENTS)
        case _:
            show(measure())
