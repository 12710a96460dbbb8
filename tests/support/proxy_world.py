"""A sandbox's proxy with real sockets: listeners are handed over as a sandbox does it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress

from ostler.model.policy.sandbox import Refusal
from ostler.model.usage import Usage
from ostler.sandbox.network.policy import PROXY_PORT, ModelRoute, NetworkPolicy, Timeouts
from ostler.sandbox.network.proxy import Proxy

QUICK = Timeouts(head_seconds=0.3, idle_seconds=5.0)
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class ProxyWorld:
    """An open proxy; `port` is where the programs inside reach it."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.refusals: list[Refusal] = []
        self.used: list[tuple[str, Usage]] = []
        self.reason = ""  # what the check of the usage returns
        self.port = 0

    def hand_over(self, label: int = PROXY_PORT) -> int:
        """Pass a new listener to the proxy under a port of the sandbox; return its real port."""
        ours, theirs = socket.socketpair()
        with socket.create_server(("127.0.0.1", 0)) as listener, ours:
            self.proxy.attach(theirs)
            socket.send_fds(ours, [f"{label}\n".encode()], [listener.fileno()])
            return listener.getsockname()[1]

    async def exchange(self, data: bytes, seconds: float = 5.0) -> bytes:
        """Send bytes to the proxy and return everything until it closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data)
            async with asyncio.timeout(seconds):
                return await reader.read()
        finally:
            writer.close()

    async def ask(self, target: str, *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
        """Send one request and return the whole answer."""
        lines = [f"{method} {target} HTTP/1.1", "Host: inside", "Connection: close", *headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return await self.exchange("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


@asynccontextmanager
async def open_proxy(
    *hosts: str,
    model: ModelRoute | None = None,
    local_ports: tuple[int, ...] = (),
    environ: Mapping[str, str] = {},
    addresses: Mapping[str, list[str]] = {},
    timeouts: Timeouts = QUICK,
) -> AsyncIterator[ProxyWorld]:
    """Open a proxy; names are those of `addresses` only."""

    async def resolve(host: str, port: int) -> list[str]:
        if host in ("127.0.0.1", "localhost"):
            return ["127.0.0.1"]
        if host not in addresses:
            raise OSError(f"no address for {host}")
        return addresses[host]

    def refuse(refusal: Refusal) -> None:
        world.refusals.append(refusal)

    def check(name: str, usage: Usage) -> str:
        world.used.append((name, usage))
        return world.reason

    proxy = Proxy(
        NetworkPolicy(hosts, local_ports, model),
        refuse,
        check,
        environ=environ,
        resolve=resolve,
        timeouts=timeouts,
    )
    world = ProxyWorld(proxy)
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    async with proxy:
        world.port = world.hand_over()
        yield world
    assert failures == []


@asynccontextmanager
async def serve(handler: Handler) -> AsyncIterator[int]:
    """Serve connections on a port of this machine."""
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


class Origin:
    """A server that answers every request with a fixed response and keeps what it received."""

    def __init__(self, response: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") -> None:
        self.response = response
        self.received: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError):  # a request that is never completed
            await self._answer(reader, writer)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.received.append(head)
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if lengths:
            self.received[-1] += await reader.readexactly(int(lengths[0].partition(b":")[2]))
        elif b"chunked" in head.lower():
            self.received[-1] += await reader.readuntil(b"0\r\n\r\n")
        writer.write(self.response)
        await writer.drain()


def route_to(port: int, *paths: str, wire: str = "", headers: Mapping[str, str] | None = None) -> ModelRoute:
    """The model's API on a port of this machine."""
    real = {"x-api-key": "real-key"} if headers is None else headers
    return ModelRoute(f"http://127.0.0.1:{port}", paths or ("/v1/messages",), lambda: real, wire)  # type: ignore[arg-type]
