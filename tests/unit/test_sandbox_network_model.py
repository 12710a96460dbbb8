"""The model's API through the proxy of a sandbox: paths, credentials, streams, tokens and the budget."""

from __future__ import annotations

import asyncio
import gzip
import json
import time

import pytest

from ostler.errors import Code, OstlerError
from ostler.model.policy.sandbox import Refusal
from ostler.model.usage import Usage
from ostler.sandbox.network.head import Headers
from ostler.sandbox.network.meter import TokenMeter
from ostler.sandbox.network.policy import ModelRoute
from ostler.testing.fake_llm import FakeLlm, say
from proxy_world import Origin, open_proxy, route_to, serve

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

# Tokens of the prompt that are not cached; OpenAI and Gemini count the 30 cached ones as part of the prompt.
EXPECTED = {"anthropic": 100, "openai": 70, "gemini": 70}


def test_credentials_are_swapped() -> None:
    """No credential of the agent passes, in any spelling; the real one is on the request, once."""

    async def run() -> None:
        origin = Origin(OK)
        async with serve(origin) as port, open_proxy(model=route_to(port)) as world:
            answer = await world.ask(
                "/v1/messages?beta=true&key=inside&%6bey=inside",
                "Authorization: Bearer inside",
                "X-API-Key: inside",
                "x-api-key: inside-2",
                "X-Goog-Api-Key: inside",
                "api-key: inside",
                "Cookie: session=inside",
                "Proxy-Authorization: inside",
                "Accept-Encoding: gzip, br",
                "anthropic-version: 2023-06-01",
                method="POST",
                body=b'{"a": 1}',
            )
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and answer.endswith(b"{}")
        received = origin.received[0].decode()
        assert received.startswith("POST /v1/messages?beta=true HTTP/1.1\r\n")
        assert f"Host: 127.0.0.1:{port}\r\n" in received and received.endswith('\r\n\r\n{"a": 1}')
        assert received.lower().count("x-api-key: real-key\r\n") == 1 and "inside" not in received.lower()
        assert "Accept-Encoding: identity\r\n" in received and "anthropic-version: 2023-06-01" in received
        assert world.refusals == []

    asyncio.run(run())


@pytest.mark.parametrize(
    "target",
    [
        "/v1/files",
        "/v1/messages/../files",
        "/v1/../v1/messages",
        "/v1/./messages",
        "//v1/messages",
        "/v1//messages",
        "/v1/messages/",
        "/v1/%2e%2e/v1/messages",
        "/v1%2fmessages",
        "/v1/models/a%2f..%2ffiles:generate",
        "/v1/models/a%5cb:generate",
        "/v1\\messages",
        "/v1/messages;x=1",
        "/v1/messages#x",
        "/v1/messages%00",
        "/v1/messages%20",
        "/v1/mess%61ges",
        "/v1/messages?a;b",
        "/v1/models/a/b:generate",
        "/V1/messages",
        "/v1/things/..",
        "/v1/things/.",
    ],
)
def test_other_paths_are_refused(target: str) -> None:
    """A path that is not that of a model call, or has two readings, does not reach the server."""

    async def run() -> None:
        origin = Origin(OK)
        async with serve(origin) as port:
            route = route_to(port, "/v1/messages", "/v1/models/*:generate", "/v1/things/*")
            async with open_proxy(model=route) as world:
                answer = await world.ask(target, method="POST", body=b"{}")
                control = await world.ask(
                    "/v1/models/some-model%3A1:generate?alt=sse", method="POST", body=b"{}"
                )
        assert answer.startswith(b"HTTP/1.1 403 ") and b"it is not a model call" in answer
        assert [refusal.kind for refusal in world.refusals] == ["network"] and world.refusals[0].setting == ""
        assert control.startswith(b"HTTP/1.1 200 ") and len(origin.received) == 1

    asyncio.run(run())


@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH", "TRACE"])
def test_other_methods_are_refused(method: str) -> None:
    """Nothing of the account is changed or deleted, also not by a header that names another method."""

    async def run() -> None:
        origin = Origin(OK)
        async with serve(origin) as port, open_proxy(model=route_to(port)) as world:
            assert (await world.ask("/v1/messages", method=method)).startswith(b"HTTP/1.1 403 ")
            await world.ask("/v1/messages", f"X-HTTP-Method-Override: {method}", method="POST", body=b"{}")
        assert len(origin.received) == 1 and method.encode() not in origin.received[0]

    asyncio.run(run())


def test_probe_of_the_server_is_no_refusal() -> None:
    """Agents look at the root of their server at the start; that is answered and not recorded."""

    async def run() -> None:
        async with open_proxy(model=route_to(1)) as world:
            assert (await world.ask("/", method="HEAD")).startswith(b"HTTP/1.1 404 ")
            assert world.refusals == []
        async with open_proxy() as world:
            assert b"no model has its API here" in await world.ask("/v1/messages")

    asyncio.run(run())


def test_base_url_with_a_path() -> None:
    """The path of the base URL comes before that of the call."""

    async def run() -> None:
        origin = Origin(OK)
        async with serve(origin) as port:
            route = ModelRoute(f"http://localhost:{port}/team/a/", ("/v1/messages",), dict)
            async with open_proxy(model=route) as world:
                await world.ask("/v1/messages")
        assert origin.received[0].startswith(b"GET /team/a/v1/messages HTTP/1.1\r\n")

    asyncio.run(run())


def test_events_arrive_before_the_answer_ends() -> None:
    """Nothing is buffered: each event arrives while the server waits before the next one."""
    release = asyncio.Event()

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        writer.write(b"d\r\ndata: first\n\n\r\n")
        await writer.drain()
        await release.wait()
        writer.write(b"e\r\ndata: second\n\n\r\n0\r\n\r\n")
        writer.close()

    async def run() -> None:
        async with serve(stream) as port, open_proxy(model=route_to(port)) as world:
            reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
            started = time.monotonic()
            writer.write(b"GET /v1/messages HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.wait_for(reader.readuntil(b"first\n\n"), 5)
            assert not release.is_set() and time.monotonic() - started < 2
            release.set()
            assert b"second" in await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), 5)
            writer.close()

    asyncio.run(run())


def test_request_body_streams_and_connection_is_kept() -> None:
    """Chunks pass one by one, and several requests use one connection."""

    async def run() -> None:
        origin = Origin(OK)
        async with serve(origin) as port, open_proxy(model=route_to(port)) as world:
            reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
            for number in range(3):
                writer.write(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
                writer.write(b"5\r\nhello\r\n3\r\n %d!\r\n0\r\n\r\n" % number)
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
                assert b"Connection: keep-alive" in head and await reader.readexactly(2) == b"{}"
            writer.write(b"POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
            refused = await asyncio.wait_for(reader.readuntil(b"call.\n"), 5)
            assert refused.startswith(b"HTTP/1.1 403")
            writer.write(
                b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
            )
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            writer.write(b"{}")
            assert (await reader.readuntil(b"{}")).startswith(b"HTTP/1.1 200")
            writer.close()
        assert origin.received[1].endswith(b"5\r\nhello\r\n3\r\n 1!\r\n0\r\n\r\n")
        assert b"100-continue" not in origin.received[-1]

    asyncio.run(run())


@pytest.mark.parametrize("path", ["messages", "chat/completions", "responses", "gemini", "gemini-events"])
@pytest.mark.parametrize("stream", [True, False])
def test_tokens_of_every_wire_are_counted(path: str, stream: bool) -> None:
    """The counts of the server arrive with the name of the model, streamed or not."""
    paths = {
        "messages": ("anthropic", "/v1/messages"),
        "chat/completions": ("openai", "/v1/chat/completions"),
        "responses": ("openai", "/v1/responses"),
        "gemini": (
            "gemini",
            f"/v1beta/models/m-1:{'streamGenerateContent' if stream else 'generateContent'}",
        ),
        "gemini-events": ("gemini", "/v1beta/models/m-1:streamGenerateContent?alt=sse"),
    }
    wire, target = paths[path]
    body = {
        "model": "m-1",
        "max_tokens": 10,
        "stream": stream,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "hi"}],
        "input": "hi",
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    }

    async def run() -> None:
        with FakeLlm([say("Hello", usage=Usage(100, 20, 30))]) as llm:
            patterns = ("/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1beta/models/*")
            route = ModelRoute(llm.url, patterns, dict, wire)  # type: ignore[arg-type]
            async with open_proxy(model=route) as world:
                answer = await world.ask(
                    target, "Content-Type: application/json", method="POST", body=json.dumps(body).encode()
                )
        assert b" 200 " in answer[:20], answer
        assert [name for name, _ in world.used] == ["m-1"]
        found = world.used[0][1]
        assert found.output_tokens == 20 and found.cache_read_tokens == 30
        assert found.input_tokens == EXPECTED[wire], found

    asyncio.run(run())


def test_compressed_answer_is_counted_and_passes_unchanged() -> None:
    """A server that compresses though it was not asked to is counted all the same; other encodings fail."""
    answer = {"model": "m-1", "usage": {"input_tokens": 7, "output_tokens": 5}}
    packed = gzip.compress(json.dumps(answer).encode())

    def respond(encoding: bytes) -> Origin:
        return Origin(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: %b\r\nContent-Length: %d\r\n\r\n" % (encoding, len(packed))
            + packed
        )

    async def run() -> None:
        origin = respond(b"gzip")
        async with serve(origin) as port, open_proxy(model=route_to(port, wire="anthropic")) as world:
            assert (await world.ask("/v1/messages")).endswith(packed)
            origin.response = respond(b"br").response
            assert (await world.ask("/v1/messages")).startswith(b"HTTP/1.1 502 ")
        assert world.used == [("m-1", Usage(7, 5))]

    asyncio.run(run())


def test_budget_ends_model_calls() -> None:
    """The answer that reaches the budget still arrives; later calls get 402 with the reason."""
    events = b'data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":9}}}\n\n'
    events += b'data: {"type":"message_delta","usage":{"output_tokens":40}}\n\n'
    origin = Origin(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + events
    )

    async def run() -> None:
        async with serve(origin) as port, open_proxy(model=route_to(port, wire="anthropic")) as world:
            world.reason = "the task used 1.02 of 1.00 USD"
            assert (await world.ask("/v1/messages")).count(b"data:") == 2
            for _ in range(2):
                refused = await world.ask("/v1/messages", method="POST", body=b"{}")
        assert refused.startswith(b"HTTP/1.1 402 Payment Required\r\n")
        error = json.loads(refused.partition(b"\r\n\r\n")[2])["error"]
        assert error == {"type": "billing_error", "message": "the task used 1.02 of 1.00 USD"}
        assert world.used == [("m", Usage(9, 40))] and len(origin.received) == 1
        assert world.refusals == [Refusal("network", "the model", "budget.task_usd")]

    asyncio.run(run())


def test_answer_that_is_cut_off_counts() -> None:
    """The tokens of an answer whose connection broke were used, too; the client notices the break."""
    start = b'data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":9}}}\n\n'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 5000\r\n\r\n"
    origin = Origin(head + start)

    async def run() -> None:
        async with serve(origin) as port, open_proxy(model=route_to(port, wire="anthropic")) as world:
            reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
            writer.write(b"GET /v1/messages HTTP/1.1\r\nHost: x\r\n\r\n")
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await asyncio.wait_for(reader.readexactly(5000), 5)
            writer.close()
        assert world.used == [("m", Usage(9, 1))]

    asyncio.run(run())


@pytest.mark.parametrize("packed", [False, True])
def test_answer_without_its_end_is_estimated(packed: bool) -> None:
    """The counts are at the end of an answer that is no stream; a program can close before it."""
    text = b'{"type": "message", "model": "some", "content": "' + b"answer " * 1000
    headers = Headers((("Content-Encoding", "gzip"),) if packed else ())
    meter = TokenMeter("anthropic", headers)
    meter.read(gzip.compress(text)[:-8] if packed else text)
    meter.finish(400)
    assert meter.model == "some" and meter.usage.input_tokens == 100 and meter.usage.output_tokens > 1000
    whole = TokenMeter("anthropic", Headers())
    whole.read(b'{"data": [{"id": "some"}]}')  # a list of models costs nothing
    whole.finish(400)
    assert whole.usage == Usage()


def test_stream_without_counts_is_estimated() -> None:
    """A program cannot avoid the budget: a stream without counts has a token per event and per four bytes."""
    event = b'data: {"model":"m","choices":[{"delta":{"content":"a"}}]}\n\n'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

    async def run() -> None:
        origin = Origin(head + event * 50 + b"data: [DONE]")
        async with serve(origin) as port, open_proxy(model=route_to(port, wire="openai")) as world:
            await world.ask("/v1/messages", method="POST", body=b"x" * 4000)
            origin.response = b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" + b'{"input_tokens":123}'
            await world.ask(
                "/v1/messages", method="POST", body=b"x" * 4000
            )  # a count of tokens costs nothing
        assert world.used == [("m", Usage(1000, 51))]

    asyncio.run(run())


def test_call_ends_when_the_agent_hangs_up() -> None:
    """A call whose client is gone is ended outside, too: it would cost tokens that no one reads."""
    ended = asyncio.Event()

    async def think(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.read()
        ended.set()
        writer.close()

    async def run() -> None:
        async with serve(think) as port, open_proxy(model=route_to(port)) as world:
            _, writer = await asyncio.open_connection("127.0.0.1", world.port)
            writer.write(b"GET /v1/messages HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.sleep(0.05)
            writer.close()
            await asyncio.wait_for(ended.wait(), 5)

    asyncio.run(run())


def test_failures_outside_are_sentences() -> None:
    """A server that is not there, breaks or sends no HTTP, and a missing login have their own error."""

    def no_login() -> dict[str, str]:
        raise OstlerError(Code.AUTH_FAILED, "the login expired; run claude to log in")

    async def run() -> None:
        async with open_proxy(model=route_to(9, headers={"x": "a\nb"})) as world:
            assert b"credentials have characters" in await world.ask("/v1/messages")
        async with open_proxy(model=route_to(9)) as world:
            assert b"127.0.0.1 could not be reached" in await world.ask("/v1/messages")
        route = ModelRoute("http://127.0.0.1:9", ("/v1/messages",), no_login)
        async with open_proxy(model=route) as world:
            answer = await world.ask("/v1/messages")
            assert answer.startswith(b"HTTP/1.1 401 ") and b"the login expired" in answer
        for response in (b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\nContent-Length: 1\n\nx"):
            async with serve(Origin(response)) as port, open_proxy(model=route_to(port)) as world:
                assert (await world.ask("/v1/messages")).startswith(b"HTTP/1.1 502 ")

    asyncio.run(run())
