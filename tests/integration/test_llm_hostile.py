"""Servers that do not follow HTTP: raw local sockets."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from ostler.errors import Code
from ostler.llm import http
from ostler.llm.anthropic import AnthropicClaudeClient
from ostler.llm.client import ClaudeClient, ClaudeClientConfig, ClaudeRequest
from ostler.llm.failure import ModelError
from ostler.llm.openai import OpenAIChatClient

CLIENTS = [AnthropicClaudeClient, OpenAIChatClient]
Make = Callable[[ClaudeClientConfig], ClaudeClient]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
KEY = "sk-test-0123456789"
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
EVENTS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


async def ask(make: Make, url: str, **more: float) -> ModelError:
    """Return the error of one request."""
    requested = ClaudeRequest("", "Hello?", "m", **{"timeout_seconds": 60.0, **more})
    with pytest.raises(ModelError) as caught:
        await make(ClaudeClientConfig(KEY, url)).complete(requested)
    assert KEY not in caught.value.message
    return caught.value


@contextlib.asynccontextmanager
async def serving(serve: Serve, *, waits: bool = True) -> AsyncIterator[str]:
    """Serve one kind of answer, sent after the request unless specified otherwise; yield the address.

    A server that closes with a part of the request unread resets the connection, and its answer may be lost.
    """

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            if waits:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(LENGTH.search(head)[1]))  # pyright: ignore
            await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def failure_with(make: Make, serve: Serve, **more: float) -> ModelError:
    async def run() -> ModelError:
        async with serving(serve) as url:
            return await ask(make, url, **more)

    return asyncio.run(run())


def answer(data: bytes) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()

    return serve


def endless(head: bytes, part: bytes) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(part)
            await writer.drain()

    return serve


@pytest.mark.parametrize("make", CLIENTS)
@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", Code.NETWORK),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Code.NETWORK),
        (b"HTTP/1.1 200 OK\r\n", Code.NETWORK),
        (EVENTS, Code.STREAM_BROKEN),
        (EVENTS + b"\xff\xfe\x00data: \xff\n\n", Code.STREAM_BROKEN),
        (EVENTS + b"data: [[[[\n\n", Code.STREAM_BROKEN),
        (EVENTS + b"data: " + b"[" * 100_000 + b"\n\n", Code.STREAM_BROKEN),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n<ht>", Code.STREAM_BROKEN),
        (b"HTTP/1.1 302 Found\r\nlocation: http://example.org/\r\ncontent-length: 0\r\n\r\n", Code.API_ERROR),
        (b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n", Code.NETWORK),
        (b"HTTP/1.1 429 Slow\r\nretry-after: 7\r\ncontent-length: 99\r\n\r\n{", Code.RATE_LIMITED),
    ],
)
def test_nonsense_has_a_code(make: Make, data: bytes, code: Code) -> None:
    """Any response is a ModelError with one sentence."""
    assert failure_with(make, answer(data)).code is code


@pytest.mark.parametrize("make", CLIENTS)
def test_an_endless_error_is_read_no_further(make: Make) -> None:
    """D12: the body of an error response is cut, and the connection is closed."""
    head = b"HTTP/1.1 529 Overloaded\r\ncontent-type: text/plain\r\n\r\n"
    begun = time.monotonic()
    failure = failure_with(make, endless(head, b"x" * 65536))
    assert failure.code is Code.OVERLOADED
    assert len(failure.message) < 400
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize("make", CLIENTS)
@pytest.mark.parametrize("part", [b": nothing\n\n" * 6000, b"x" * 65536], ids=["comments", "one line"])
def test_an_answer_without_end_is_refused(make: Make, part: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """D12: neither comments nor an endless line fill the memory."""
    monkeypatch.setattr(http, "MAX_ANSWER_BYTES", 4 << 20)
    assert failure_with(make, endless(EVENTS, part)).code is Code.OUTPUT_LIMIT


REAL_LOOK_UP = socket.getaddrinfo


def look_up(host: str | bytes | None, *args: Any, **more: Any) -> Any:
    """Resolve names without a network: the machine's resolver may be slow, or resolve every name."""
    if host in ("no-such-host.invalid", b"no-such-host.invalid"):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return REAL_LOOK_UP(host, *args, **more)


@pytest.mark.parametrize("make", CLIENTS)
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{closed}",
        "http://no-such-host.invalid",
        "http://" + "a" * 80 + ".example",
        "http://ex..ample",
    ],
)
def test_an_address_without_a_server(make: Make, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """D7: a refused, unknown or invalid address is NETWORK, and the message names it."""
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refused
        failure = asyncio.run(ask(make, url.replace("{closed}", str(taken.getsockname()[1]))))
    assert failure.code is Code.NETWORK
    assert "could not be reached: " in failure.message


@pytest.mark.parametrize("make", CLIENTS)
@pytest.mark.parametrize(
    "url",
    [
        "not a url",
        "http://",
        "ftp://127.0.0.1",
        "http://127.0.0.1:99999",
        "http://user:secret/@h",
        "http://[::1",
    ],
)
def test_what_is_no_address_is_a_mistake_in_the_settings(make: Make, url: str) -> None:
    """An invalid address is not retried, and is not shown."""
    with pytest.raises(ModelError) as caught:
        make(ClaudeClientConfig(KEY, url))
    assert caught.value.code is Code.CONFIG_INVALID
    assert "secret" not in caught.value.message


@pytest.mark.parametrize("make", CLIENTS)
def test_a_host_that_swallows_everything_is_given_up(make: Make) -> None:
    """D7: the idle timeout also applies before the connection is accepted."""
    with socket.socket() as full, contextlib.ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            caller = waiting.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        failure = asyncio.run(ask(make, url, idle_timeout_seconds=0.5))
    assert failure.code is Code.NETWORK


@pytest.mark.parametrize("make", CLIENTS)
def test_tls_with_a_plain_server(make: Make) -> None:
    """D7: https to a plain port is a network error."""

    async def run() -> ModelError:
        async with serving(answer(b"HTTP/1.1 400 Bad Request\r\n\r\n"), waits=False) as url:
            return await ask(make, url.replace("http:", "https:"))

    assert asyncio.run(run()).code is Code.NETWORK


@pytest.mark.parametrize("make", CLIENTS)
def test_cancelling_closes_the_connection(make: Make) -> None:
    """W4 for a call without a process: the server detects the end of the connection."""

    async def run() -> None:
        reached, left = asyncio.Event(), asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(EVENTS + b": here\n\n")
            reached.set()
            with contextlib.suppress(ConnectionResetError):  # it may close before it has read that
                assert await reader.read() == b""
            left.set()

        async with serving(serve) as url:
            client = make(ClaudeClientConfig(KEY, url))
            running = asyncio.create_task(client.complete(ClaudeRequest("", "Hello?", "m")))
            await reached.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await asyncio.wait_for(left.wait(), 10)

    asyncio.run(run())
