"""Messages that two programs could read differently are refused before anything is sent on."""

from __future__ import annotations

import asyncio

import pytest

from ostler.sandbox.network.head import MessageInvalid, parse_request
from proxy_world import Origin, open_proxy, route_to, serve

POST = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\n"
SECOND = b"GET /v1/files HTTP/1.1\r\nHost: x\r\n\r\n"
MESSAGES = {
    "both lengths": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "both lengths reversed": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "two lengths": POST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
    "two equal lengths": POST + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
    "list of lengths": POST + b"Content-Length: 4, 4\r\n\r\nabcd",
    "signed length": POST + b"Content-Length: +4\r\n\r\nabcd",
    "negative length": POST + b"Content-Length: -4\r\n\r\nabcd",
    "hexadecimal length": POST + b"Content-Length: 0x4\r\n\r\nabcd",
    "length with underscore": POST + b"Content-Length: 1_0\r\n\r\nabcdefghij",
    "empty length": POST + b"Content-Length:\r\n\r\n",
    "huge length": POST + b"Content-Length: 99999999999999999999\r\n\r\n",
    "other encoding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "gzip, chunked": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked, identity": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "chunked twice": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked with vertical tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "chunked in HTTP/1.0": POST.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "space before colon": POST + b"Content-Length : 4\r\n\r\nabcd",
    "tab before colon": POST + b"Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n",
    "folded header": POST + b"X-A: b\r\n c\r\nContent-Length: 0\r\n\r\n",
    "folded encoding": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "leading space": POST + b" Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bare LF": b"POST /v1/messages HTTP/1.1\nHost: x\n\n",
    "bare LF in a header": POST + b"X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bare LF at the end": POST + b"Content-Length: 0\r\n\n",
    "bare CR": POST + b"X-A: b\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "NUL": POST + b"X-A: b\0c\r\n\r\n",
    "no colon": POST + b"X-A\r\n\r\n",
    "empty name": POST + b": x\r\n\r\n",
    "two hosts": POST + b"Host: y\r\n\r\n",
    "no host": b"GET /v1/messages HTTP/1.1\r\n\r\n",
    "version 2.0": b"GET /v1/messages HTTP/2.0\r\nHost: x\r\n\r\n",
    "version 1.2": b"GET /v1/messages HTTP/1.2\r\nHost: x\r\n\r\n",
    "version 0.9": b"GET /v1/messages\r\n\r\n",
    "two spaces": b"GET  /v1/messages HTTP/1.1\r\nHost: x\r\n\r\n",
    "tab in the first line": b"GET\t/v1/messages HTTP/1.1\r\nHost: x\r\n\r\n",
    "space in the target": b"GET /v1/messages x HTTP/1.1\r\nHost: x\r\n\r\n",
    "empty first line": b"\r\nGET /v1/messages HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes in the target": b"GET /v1/messages\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "huge head": POST + b"X-A: " + b"a" * 70_000 + b"\r\n\r\n",
    "huge heads": POST + b"X-A: aaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 4000 + b"\r\n",
    "many headers": POST + b"a:\r\n" * 500 + b"\r\n",
    "asterisk": b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    "https URL": b"GET https://example.com/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "backslash URL": b"GET http://example.com\\@evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "fragment": b"GET http://example.com/#a HTTP/1.1\r\nHost: x\r\n\r\n",
}
CHUNKS = {
    "extension": b"4;a=b\r\nabcd\r\n0\r\n\r\n",
    "trailer": b"4\r\nabcd\r\n0\r\nX-A: b\r\n\r\n",
    "bare LF": b"4\nabcd\n0\n\n",
    "prefix": b"0x4\r\nabcd\r\n0\r\n\r\n",
    "signed": b"+4\r\nabcd\r\n0\r\n\r\n",
    "space": b" 4\r\nabcd\r\n0\r\n\r\n",
    "too long": b"4\r\nabcdef\r\n0\r\n\r\n",
    "huge": b"FFFFFFFFFFFFFFFFF\r\nabcd\r\n0\r\n\r\n",
    "no size": b"\r\nabcd\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_ambiguous_messages_are_refused(name: str) -> None:
    """Nothing reaches the server, the second request on the connection neither, and no host is allowed."""

    async def run() -> None:
        origin = Origin()
        async with serve(origin) as port, open_proxy("example.com", model=route_to(port)) as world:
            answer = await world.exchange(MESSAGES[name] + SECOND)
            assert answer.startswith(b"HTTP/1.1 400 "), answer
            control = await world.exchange(POST + b"Connection: close\r\nContent-Length: 4\r\n\r\nabcd")
        assert control.startswith(b"HTTP/1.1 200 ") and len(origin.received) == 1

    asyncio.run(run())


@pytest.mark.parametrize("name", CHUNKS)
def test_ambiguous_chunks_are_refused(name: str) -> None:
    """A body with chunks that are not plain is never completed at the server."""

    async def run() -> None:
        origin = Origin()
        async with serve(origin) as port, open_proxy(model=route_to(port)) as world:
            head = POST + b"Transfer-Encoding: chunked\r\n\r\n"
            answer = await world.exchange(head + CHUNKS[name])
            assert answer.startswith(b"HTTP/1.1 400 ")
        assert origin.received in ([], [head]) or b"0\r\n\r\n" not in origin.received[0]

    asyncio.run(run())


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\0"])
def test_stray_line_ends_are_refused_by_the_parser(end: bytes) -> None:
    """The parser refuses them by itself, whatever read the lines."""
    head = b"GET / HTTP/1.1\r\nHost: x\r\nA: b%bc: d\r\n\r\n"
    assert parse_request(head % b"\r\n").headers.get("c") == "d"
    with pytest.raises(MessageInvalid, match="line end that is not CR LF"):
        parse_request(head % end)


def test_slow_head_ends() -> None:
    """A client that does not complete its head in time loses the connection."""

    async def run() -> None:
        async with open_proxy() as world:
            assert (await world.exchange(b"GET / HTTP/1.1\r\nHost:")).startswith(b"HTTP/1.1 408 ")

    asyncio.run(run())


def test_reported_refusals() -> None:
    """Programs inside can report a refused push or file, at most 50, and nothing else."""

    async def report(body: bytes) -> bytes:
        return await world.ask("/.ostler/refusal", method="POST", body=body)

    async def run() -> None:
        nonlocal world
        async with open_proxy() as world:
            assert (await report(b'{"kind":"push","target":"origin main"}')).startswith(b"HTTP/1.1 204 ")
            assert (await report(b'{"kind":"push","target":"origin main"}')).startswith(b"HTTP/1.1 204 ")
            assert [(one.kind, one.target) for one in world.refusals] == [("push", "origin main")]
            for bad in (
                b"{}",
                b"[]",
                b'{"kind":"network","target":"x"}',
                b'{"kind":"push","target":""}',
                b'{"kind":"push","target":"a\\u001b[31m"}',
                b'{"kind":"push","target":"%b"}' % (b"a" * 301),
                b'{"kind":"push","target":"x", "more": "%b"}' % (b"a" * 9000),
                b"\xff",
            ):
                assert (await report(bad)).startswith(b"HTTP/1.1 400 "), bad
            assert (await world.ask("/.ostler/refusal")).startswith(b"HTTP/1.1 404 ")
            assert (await world.ask("/.ostler/../v1/messages")).startswith(b"HTTP/1.1 404 ")
            for number in range(60):
                await report(b'{"kind":"file","target":"/etc/%d"}' % number)
            assert len(world.refusals) == 49

    world = None
    asyncio.run(run())
