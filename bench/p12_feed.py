"""P12: how soon 50 clients hear of what is written, and what a client that does not read costs the writer."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from measure import Result, milliseconds, minima, per_second, ratio, scratch, show
from ostler.model.ids import TaskId
from ostler.model.notice import AgentWarned
from ostler.project.project import Project
from ostler.store.sqlite import SqliteJournal
from ostler.web.address import listen
from ostler.web.server import WebServer

CLIENTS, PER_SECOND, SECONDS = 50, 100, 4
TASK = TaskId("bench")
INGESTED = 1000


def ours(place: Path) -> float:
    """Written by another process, durably, and read from the store by the server."""
    return asyncio.run(_heard("ours", place))


def bare(place: Path) -> float:
    """Made in the server's own loop, and put into a queue for each client."""
    return asyncio.run(_heard("bare", place))


async def _heard(which: str, place: Path) -> float:
    """The 99th percentile of the time from writing to hearing, over all clients."""
    server = subprocess.Popen(
        [sys.executable, __file__, which, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None and server.stdin is not None
    port, token = json.loads(server.stdout.readline())
    try:
        late: list[float] = []
        clients = [asyncio.create_task(_listen(port, token, late)) for _ in range(CLIENTS)]
        await asyncio.sleep(0.5)
        if which == "ours":
            await asyncio.to_thread(_write, place)
        await asyncio.wait_for(asyncio.gather(*clients), 60)
    finally:
        server.stdin.close()
        server.wait(30)
    late.sort()
    return late[len(late) * 99 // 100]


async def _listen(port: int, token: str, late: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_request(port, token))
    heard = 0
    while heard < PER_SECOND * SECONDS:
        line = await reader.readline()
        if line.startswith(b"data: "):
            late.append(time.time() - float(json.loads(line[6:])["message"]))
            heard += 1
    writer.close()


def _request(port: int, token: str, query: str = "") -> bytes:
    key = f"Authorization: Bearer {token}"
    return f"GET /api/v1/stream{query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{key}\r\n\r\n".encode()


def _write(place: Path) -> None:
    with SqliteJournal(place / ".ostler" / "ostler.db") as journal:
        began = time.monotonic()
        for number in range(PER_SECOND * SECONDS):
            time.sleep(max(0.0, began + number / PER_SECOND - time.monotonic()))
            journal.notify(TASK, time.time(), [AgentWarned(str(time.time()))])


def ingest(place: Path, stalled: int) -> float:
    """Lines written per second beside a server, in its process, with clients that never read."""
    with Project.open(place, {}, create=True) as project:
        web = WebServer(project, listen("127.0.0.1", 0), {}, carries=False)
        clients = [
            _stalled(int(web.site.address.rpartition(":")[2]), web.site.keys.token) for _ in range(stalled)
        ]
        project.journal.notify(TASK, 0.0, [AgentWarned("x" * 8000)] * 1000)  # more than a socket takes
        time.sleep(1)
        began = time.perf_counter()
        for _ in range(INGESTED):
            project.journal.notify(TASK, 0.0, [AgentWarned("x" * 500)])
        took = time.perf_counter() - began
        for client in clients:
            client.close()
        web.close()
    return INGESTED / took


def _stalled(port: int, token: str) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    client.sendall(_request(port, token, "?after=0"))
    return client


def measure() -> list[Result]:
    with scratch() as place:
        Project.open(place, {}, create=True).journal.close()
        us, them = minima(lambda: ours(place), lambda: bare(place), rounds=3)
        free, held = (-one for one in minima(lambda: -ingest(place, 0), lambda: -ingest(place, 1), rounds=5))
    return [
        ratio(
            "P12", "50 clients, 100 events/s: p99 / bare starlette, no store", us, them, "<= 3", milliseconds
        ),
        ratio("P12", "lines written with a stalled client / without", held, free, ">= 0.95", per_second),
    ]


def _serve_ours(place: Path) -> None:
    with Project.open(place, os.environ) as project:
        web = WebServer(project, listen("127.0.0.1", 0), os.environ, carries=False)
        print(json.dumps([int(web.site.address.rpartition(":")[2]), web.site.keys.token]), flush=True)
        sys.stdin.read()
        web.close()


def _serve_bare() -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    queues: list[asyncio.Queue[bytes]] = []

    async def words(queue: asyncio.Queue[bytes]) -> AsyncGenerator[bytes]:
        while True:
            yield await queue.get()

    async def stream(request: Request) -> Response:
        queues.append(asyncio.Queue())
        return StreamingResponse(words(queues[-1]), media_type="text/event-stream")

    async def produce() -> None:
        while len(queues) < CLIENTS:
            await asyncio.sleep(0.05)
        for number in range(PER_SECOND * SECONDS):
            await asyncio.sleep(1 / PER_SECOND)
            data = json.dumps({"seq": number, "type": "agent_warned", "message": str(time.time())})
            for queue in queues:
                queue.put_nowait(f"id: {number}\ndata: {data}\n\n".encode())

    async def serve() -> None:
        app = Starlette(routes=[Route("/api/v1/stream", stream)])
        taken = listen("127.0.0.1", 0)
        server = uvicorn.Server(
            uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        )
        print(json.dumps([taken.getsockname()[1], ""]), flush=True)
        serving = asyncio.create_task(server.serve([taken]))
        producing = asyncio.create_task(produce())
        await asyncio.to_thread(sys.stdin.read)
        producing.cancel()
        server.should_exit = True
        await serving

    asyncio.run(serve())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ours", place]:
            _serve_ours(Path(place))
        case ["bare", _]:
            _serve_bare()
        case _:
            show(measure())
