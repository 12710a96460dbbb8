"""The life of a proxy: listeners that are handed over, and nothing that is left after it."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from proxy_world import Origin, ProxyWorld, open_proxy, route_to, serve


def open_sockets() -> set[str]:
    """The sockets of this process, by their number."""
    links: list[str] = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the descriptor of the listing itself
            links.append(os.readlink(entry))
    return {link for link in links if link.startswith("socket:")}


def open_everything(world: ProxyWorld, port: int) -> list[socket.socket]:
    """Open connections in every state: idle, half a head, a tunnel, a call, a request, a flooded service."""
    clients: list[socket.socket] = []
    for data in (
        b"",
        b"GET / HT",
        f"CONNECT localhost:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
        b"GET /v1/messages HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nstart",
        f"GET http://localhost:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
    ):
        clients.append(socket.create_connection(("127.0.0.1", world.port)))
        clients[-1].sendall(data)
    flood = socket.create_connection(("127.0.0.1", world.hand_over(port)))
    flood.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            flood.send(b"x" * 1_000_000)
    return [*clients, flood]


def test_nothing_is_left_after_the_attempt() -> None:
    """Every listener, connection and task ends with the proxy, in whatever state it is."""

    async def run(silent: socket.socket) -> None:
        port = silent.getsockname()[1]
        before, tasks = open_sockets(), asyncio.all_tasks()
        async with open_proxy(f"localhost:{port}", model=route_to(port), local_ports=(port,)) as world:
            clients = open_everything(world, port)
            ours, theirs = socket.socketpair()
            world.proxy.attach(theirs)
            await asyncio.sleep(0.1)
            mine = {f"socket:[{os.fstat(one.fileno()).st_ino}]" for one in (*clients, ours)}
            # The positive control: listeners, clients, servers and their tasks are there.
            assert len(open_sockets() - before - mine) >= 2 + 7 + 5 + 1
            assert len(asyncio.all_tasks() - tasks) >= 2 + 7 + 1
        assert open_sockets() - before - mine == set()
        assert asyncio.all_tasks() == tasks
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", world.port)
        for one in (*clients, ours):
            one.close()

    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts nothing: connections stay open
        asyncio.run(run(silent))


def test_proxy_that_ends_at_once_closes_what_it_was_given() -> None:
    """A socket whose task never started is closed, too."""

    async def run() -> None:
        ours, theirs = socket.socketpair()
        async with open_proxy() as world:
            world.proxy.attach(theirs)
        assert theirs.fileno() == -1
        ours.close()

    asyncio.run(run())


def test_error_of_the_attempt_passes_unchanged() -> None:
    """What fails inside the context is raised as it is, and a cancelled attempt closes the proxy, too."""

    async def fail() -> None:
        async with open_proxy() as world:
            assert world.port
            raise KeyError("of the attempt")

    async def cancel() -> None:
        async def attempt() -> None:
            async with open_proxy() as world:
                ports.append(world.port)
                await asyncio.sleep(60)

        ports: list[int] = []
        task = asyncio.create_task(attempt())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", ports[0])

    with pytest.raises(KeyError):
        asyncio.run(fail())
    asyncio.run(cancel())


def test_program_started_twice() -> None:
    """Each program of an attempt hands over its own listeners; both work."""

    async def run() -> None:
        origin = Origin()
        async with serve(origin) as port, open_proxy(model=route_to(port)) as world:
            first, second = world.port, world.hand_over()
            for world.port in (first, second, first):
                assert b" 200 OK" in await world.ask("/v1/messages")

    asyncio.run(run())


def test_listeners_arrive_in_one_message_stream() -> None:
    """Ports and descriptors belong together in any split of the bytes; anything else is closed."""

    async def run() -> None:
        async with open_proxy(local_ports=(5432,)) as world:
            ours, theirs = socket.socketpair()
            world.proxy.attach(theirs)
            listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
            plain = socket.socket()  # does not listen
            socket.send_fds(ours, [b"478"], [listeners[0].fileno()])
            await asyncio.sleep(0.02)
            ours.send(b"21\n")
            socket.send_fds(ours, [b"47821\n"], [plain.fileno()])
            socket.send_fds(ours, [b"9999\n"], [listeners[1].fileno()])
            socket.send_fds(ours, [b"5432\n"], [listeners[2].fileno()])
            ours.close()
            ports = [listener.getsockname()[1] for listener in listeners]
            for listener in (*listeners, plain):
                listener.close()
            await asyncio.sleep(0.05)
            world.port = ports[0]
            assert b" 404 " in await world.ask("/")
            with pytest.raises(ConnectionRefusedError):  # an unknown port is not served
                await asyncio.open_connection("127.0.0.1", ports[1])
            _, writer = await asyncio.open_connection("127.0.0.1", ports[2])
            writer.close()

    asyncio.run(run())


def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """More connections than allowed wait, and are served when others end."""
    monkeypatch.setattr("ostler.sandbox.network.proxy._MAX_CONNECTIONS", 3)

    async def run() -> None:
        async with open_proxy() as world:
            idle = [await asyncio.open_connection("127.0.0.1", world.port) for _ in range(3)]
            await asyncio.sleep(0.05)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(world.ask("/"), 0.2)
            idle[0][1].close()
            assert b" 404 " in await world.ask("/")
            for _, writer in idle[1:]:
                writer.close()

    asyncio.run(run())


@pytest.mark.parametrize("own", ["127.0.0.1:47821", "localhost:47821"])
def test_programs_that_use_the_proxy_for_itself(own: str) -> None:
    """Some programs ignore NO_PROXY: their model calls through the proxy to the proxy work as well."""

    async def run() -> None:
        async with serve(Origin()) as port, open_proxy(model=route_to(port)) as world:
            assert b" 200 OK" in await world.ask(f"http://{own}/v1/messages")
            reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
            writer.write(f"CONNECT {own} HTTP/1.1\r\nHost: {own}\r\n\r\n".encode())
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 Connection established\r\n\r\n"
            writer.write(b"GET /v1/messages HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 OK")
            writer.close()
            assert world.refusals == []

    asyncio.run(run())


def test_random_bytes_are_no_failure() -> None:
    """Whatever a program sends, the proxy answers or closes, and keeps serving others."""
    pieces = [
        *(
            b"GET ",
            b"POST ",
            b"CONNECT ",
            b"http://",
            b"/v1/messages",
            b"localhost:1",
            b"[::1]:x",
            b"%2e",
            b"\0",
        ),
        *(
            b" HTTP/1.1",
            b"\r\n",
            b"\r\n\r\n",
            b"\n",
            b":",
            b"Host: x",
            b"Content-Length: 3",
            b"a" * 99,
            b"\xff",
        ),
        *(
            b"Transfer-Encoding: chunked",
            b"0\r\n\r\n",
            b"3\r\nabc\r\n",
            b"Expect: 100-continue",
            b"@",
            b"?",
            b"#",
        ),
    ]
    chance = random.Random(16)

    async def send(world: ProxyWorld) -> None:
        data = b"".join(chance.choices(pieces, k=chance.randint(1, 30)))
        _, writer = await asyncio.open_connection("127.0.0.1", world.port)
        writer.write(data)
        with suppress(OSError):
            await writer.drain()
            if chance.random() < 0.5:
                writer.write_eof()
            await asyncio.sleep(0.01)
        writer.close()

    async def run() -> None:
        async with serve(Origin()) as port, open_proxy("localhost:1", model=route_to(port)) as world:
            for _ in range(20):
                await asyncio.gather(*(send(world) for _ in range(20)))
            assert b" 200 OK" in await world.ask("/v1/messages")

    asyncio.run(run())


def test_answers_without_a_body() -> None:
    """HEAD, 204 and 304 end with their head, and the connection is kept."""

    async def run() -> None:
        origin = Origin()
        async with serve(origin) as port, open_proxy(f"localhost:{port}") as world:
            reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
            for method, response in (
                ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"),
                ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
                ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"),
                (
                    "GET",
                    b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                ),
            ):
                origin.response = response
                writer.write(f"{method} http://localhost:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
                assert b"Connection: keep-alive" in head and head.count(b"Content-Length") <= 1
            assert head.startswith(b"HTTP/1.1 200 OK\r\n")
            writer.close()

    asyncio.run(run())


def test_server_that_answers_before_it_read_the_request() -> None:
    """The early answer of a server that stops reading, such as 413, reaches the client."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.write_eof()
        await asyncio.sleep(0.05)
        writer.transport.abort()

    async def run() -> None:
        async with serve(refuse) as port, open_proxy(model=route_to(port)) as world:
            answer = await world.ask("/v1/messages", method="POST", body=b"x" * 20_000_000)
            assert answer.startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 502 "))

    asyncio.run(run())
