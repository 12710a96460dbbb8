"""Agents that use the proxy for every address, also for that of their model."""

from __future__ import annotations

import asyncio

from ostler.sandbox.network.policy import PROXY_PORT
from proxy_world import Origin, open_proxy, route_to, serve


def test_the_proxy_is_reached_through_itself() -> None:
    """A tunnel to the proxy and a whole URL of the proxy are requests to the model; other ports are refused."""

    async def run() -> None:
        origin = Origin()
        async with serve(origin) as port, open_proxy(model=route_to(port)) as world:
            reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
            writer.write(f"CONNECT 127.0.0.1:{PROXY_PORT} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            writer.write(b"GET /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert (await asyncio.wait_for(reader.read(), 5)).startswith(b"HTTP/1.1 200 OK\r\n")
            writer.close()
            answer = await world.ask(f"http://localhost:{PROXY_PORT}/v1/messages")
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and world.refusals == []
            await world.ask(f"http://localhost:{PROXY_PORT + 1}/v1/messages")
            assert [one.target for one in world.refusals] == [f"localhost:{PROXY_PORT + 1}"]
        assert all("x-api-key: real-key" in one.decode() for one in origin.received)

    asyncio.run(run())
