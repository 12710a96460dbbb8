"""Allowed hosts through the proxy of a sandbox: CONNECT, plain HTTP, local ports, and their refusals."""

from __future__ import annotations

import asyncio

import pytest

from ostler.model.policy.sandbox import Refusal
from ostler.sandbox.network.rules import HostRules
from proxy_world import Origin, open_proxy, serve


def test_plain_request_reaches_allowed_host() -> None:
    """A request with a whole URL arrives as a plain one, without headers of the proxy."""

    async def run() -> None:
        origin = Origin()
        async with serve(origin) as port, open_proxy(f"localhost:{port}") as world:
            answer = await world.ask(
                f"http://localhost:{port}/a?b=c", "Proxy-Authorization: Basic eDp5", "Cookie: a=b"
            )
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and answer.endswith(b"\r\n\r\nok")
        head = origin.received[0].decode()
        assert head.startswith("GET /a?b=c HTTP/1.1\r\n") and f"Host: localhost:{port}\r\n" in head
        assert "Cookie: a=b" in head and "Proxy-" not in head
        assert world.refusals == []

    asyncio.run(run())


def test_tunnel_copies_both_directions_and_ends_with_half_close() -> None:
    """After CONNECT bytes pass unchanged; the end of one direction reaches the other side."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read())[::-1])
        writer.close()

    async def run() -> None:
        async with serve(echo) as port, open_proxy(f"localhost:{port}") as world:
            reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
            writer.write(f"CONNECT localhost:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 Connection established\r\n\r\n"
            writer.write(b"abc" * 100_000)
            writer.write_eof()
            assert await asyncio.wait_for(reader.read(), 5) == b"cba" * 100_000
            writer.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("target", "refused", "setting"),
    [
        ("example.com:443", "example.com:443", "example.com"),
        ("Example.com:8443", "example.com:8443", "example.com:8443"),
        ("localhost:5432", "localhost:5432", "localhost:5432"),
        ("127.0.0.1:80", "localhost:80", "localhost:80"),
        ("[2001:db8::1]:443", "[2001:db8::1]:443", "[2001:db8::1]"),
    ],
)
def test_refusal_names_the_setting(target: str, refused: str, setting: str) -> None:
    """The program gets a sentence with the setting, also in the reason, and the refusal is recorded once."""

    async def run() -> None:
        async with open_proxy() as world:
            for _ in range(3):
                answer = await world.exchange(f"CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        text = f'sandbox.allow_hosts = ["{setting}"]'
        sentence = f"the sandbox refused a connection to {refused}; to allow it: {text}"
        assert answer.decode().startswith(f"HTTP/1.1 403 Refused by the sandbox: {sentence}\r\n")
        assert answer.decode().endswith(f"\r\n\r\n{sentence}.\n")
        assert world.refusals == [Refusal("network", refused, text)]

    asyncio.run(run())


def test_plain_request_to_other_host_is_refused() -> None:
    """A plain request is refused like a tunnel, and no name is looked up for it."""

    async def run() -> None:
        async with open_proxy("*.example.com") as world:
            answer = await world.ask("http://example.org/secret", method="POST", body=b"x" * 100_000)
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert world.refusals == [
            Refusal("network", "example.org:80", 'sandbox.allow_hosts = ["example.org"]')
        ]

    asyncio.run(run())


def test_name_is_resolved_once_and_its_checked_address_is_used() -> None:
    """A name service that changes its answer cannot lead the connection elsewhere."""
    lookups: list[str] = []
    dialed: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        lookups.append(host)
        return ["93.184.216.34"] if len(lookups) == 1 else ["127.0.0.1"]

    async def dial(address: str, port: int) -> None:
        dialed.append(address)
        raise ConnectionRefusedError(111, "Connection refused")

    async def run() -> bytes:
        async with open_proxy("example.com") as world:
            world.proxy._connector._resolve = resolve
            world.proxy._connector.dial = dial  # type: ignore[assignment]
            return await world.exchange(b"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n")

    answer = asyncio.run(run())
    assert (lookups, dialed) == (["example.com"], ["93.184.216.34"])
    assert b"example.com:443 could not be reached from outside the sandbox: connection refused." in answer


@pytest.mark.parametrize(
    ("entry", "host", "address", "setting"),
    [
        ("*.corp.example", "mirror.corp.example", "10.1.2.3", "mirror.corp.example"),
        ("*.corp.example", "mirror.corp.example", "fd00::5", "mirror.corp.example"),
        ("evil.example", "evil.example", "127.0.0.1", "localhost:443"),
        ("evil.example", "evil.example", "169.254.169.254", "169.254.169.254"),
        ("evil.example", "evil.example", "fd00:ec2::254", "[fd00:ec2::254]"),
        ("evil.example", "evil.example", "::ffff:127.0.0.1", ""),
        ("evil.example", "evil.example", "64:ff9b::7f00:1", "[64:ff9b::7f00:1]"),
        ("evil.example", "evil.example", "0.0.0.0", "0.0.0.0"),
        ("evil.example", "evil.example", "224.0.0.1", "224.0.0.1"),
        ("evil.example", "evil.example", "fe80::1%eth0", ""),
    ],
)
def test_addresses_of_allowed_names_are_checked(entry: str, host: str, address: str, setting: str) -> None:
    """An allowed name that leads to this machine, its link or a metadata service is refused."""

    async def run() -> None:
        async with open_proxy(entry, addresses={host: [address]}) as world:
            answer = await world.exchange(f"CONNECT {host}:443 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 403 ")
        text = f'sandbox.allow_hosts = ["{setting}"]' if setting else ""
        assert world.refusals == [Refusal("network", f"{host}:443", text)]
        assert not setting or HostRules([setting])  # it is a valid entry

    asyncio.run(run())


def test_name_of_this_machine_with_both_entries() -> None:
    """A name that leads to this machine works when the settings have both the name and the local service."""

    async def run() -> None:
        async with serve(Origin()) as port:
            hosts = (f"db.example:{port}", f"localhost:{port}")
            async with open_proxy(*hosts, addresses={"db.example": ["127.0.0.1"]}) as world:
                assert b" 200 OK" in await world.ask(f"http://db.example:{port}/")

    asyncio.run(run())


def test_private_address_of_an_explicit_name_is_allowed() -> None:
    """The mirror of a company is often in a private network: its own name allows it; a wildcard does not."""
    dialed: list[str] = []

    async def dial(address: str, port: int) -> None:
        dialed.append(address)
        raise ConnectionRefusedError(111, "Connection refused")

    async def run() -> None:
        hosts = ("mirror.corp.example", "10.9.9.9", "169.254.1.1:8080", "*.corp.example")
        async with open_proxy(*hosts, addresses={"mirror.corp.example": ["10.1.2.3"]}) as world:
            world.proxy._connector.dial = dial  # type: ignore[assignment]
            for target in ("mirror.corp.example:443", "10.9.9.9:443", "169.254.1.1:8080"):
                await world.exchange(f"CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert world.refusals == []

    asyncio.run(run())
    assert dialed == ["10.1.2.3", "10.9.9.9", "169.254.1.1"]


def test_connections_go_through_the_proxy_of_the_company() -> None:
    """With HTTPS_PROXY and HTTP_PROXY outside, both kinds use it with its password, and names stay names."""
    asked: list[str] = []

    async def company(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        if asked[-1].startswith("CONNECT"):
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfrom")
        writer.close()

    async def run() -> None:
        async with serve(company) as port:
            url = f"http://me:p%40ss@127.0.0.1:{port}"
            environ = {"HTTPS_PROXY": url, "http_proxy": url, "NO_PROXY": ".direct.example"}
            async with open_proxy("a.example", "x.direct.example", environ=environ) as world:
                plain = await world.ask("http://a.example/x")
                tunnel = await world.exchange(b"CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
                direct = await world.exchange(b"CONNECT x.direct.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert plain.endswith(b"from") and tunnel.endswith(b"from") and b" 502 " in direct
        assert asked[0].startswith("GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n")
        assert asked[1].startswith("CONNECT a.example:443 HTTP/1.1\r\n")
        assert all("Proxy-Authorization: Basic bWU6cEBzcw==\r\n" in one for one in asked) and len(asked) == 2

    asyncio.run(run())


def test_local_port_is_forwarded_raw() -> None:
    """A listener of a local port leads to the same port of this machine; others are not served."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"database: " + await reader.readexactly(3))
        writer.close()

    async def talk(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"sql")
        found = await reader.read()
        writer.close()
        return found

    async def run() -> None:
        async with serve(greet) as port, open_proxy(local_ports=(port,)) as world:
            assert await talk(world.hand_over(port)) == b"database: sql"
            with pytest.raises(OSError):
                await talk(world.hand_over(port - 1))

    asyncio.run(run())


def test_local_service_through_the_proxy() -> None:
    """A program that ignores NO_PROXY reaches a local service through the proxy as well."""

    async def run() -> None:
        async with serve(Origin()) as port, open_proxy(local_ports=(port,)) as world:
            assert b" 200 OK" in await world.ask(f"http://127.0.0.1:{port}/")
            assert world.refusals == []

    asyncio.run(run())
