"""The fake model server: four APIs, with and without streaming, and the recorded requests."""

from __future__ import annotations

import json
import socket
import threading
import time
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest

from llm_clients import APIS, GEMINI_MODEL, TURNS, Api, Json
from ostler.model.usage import Usage
from ostler.testing.fake_llm import REDACTED, Answer, FakeLlm, Request, Silence, call, say


def send(llm: FakeLlm, path: str, body: Json | bytes | None = None, **headers: str) -> HTTPResponse:
    """One request; a POST when it has a body."""
    connection = HTTPConnection(llm.url.removeprefix("http://"), timeout=20)
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET" if body is None else "POST", path, data, names)
    return connection.getresponse()


def load(response: HTTPResponse) -> Json:
    with response:
        return json.loads(response.read())


def events_of(response: HTTPResponse) -> list[Json]:
    """The events of a stream, without the final one of Chat Completions."""
    with response:
        assert (response.getheader("Content-Type") or "").startswith("text/event-stream")
        lines = response.read().decode().split("\n")
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert "[DONE]" not in data[:-1]
    return [json.loads(line) for line in data if line != "[DONE]"]


def ask(llm: FakeLlm, api: Api, streamed: bool) -> Json:
    """The text of the answer, streamed or not."""
    body = {"model": "m", "stream": streamed, **api.body}
    if streamed:
        return api.from_events(events_of(send(llm, api.streamed, body)))
    return api.whole(load(send(llm, api.path, body)))


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", APIS)
def test_an_answer_arrives_with_its_text_tools_and_tokens(name: str, streamed: bool) -> None:
    """The same turn gives the same text in every API, streamed or not."""
    tool = call("write_file", path="a.txt", content='odd "text" é').tools
    with FakeLlm([Answer(say="Hello, wörld.", tools=tool, usage=Usage(7, 3))]) as llm:
        reported = ask(llm, APIS[name], streamed)
    assert (reported["text"], reported["tokens"]) == ("Hello, wörld.", (7, 3))
    assert reported["calls"] == [("write_file", {"path": "a.txt", "content": 'odd "text" é'})]


STOPS = {
    "anthropic": ("end_turn", "max_tokens", "tool_use"),
    "chat": ("stop", "length", "tool_calls"),
    "responses": ("completed", "max_output_tokens", "completed"),
    "gemini": ("STOP", "MAX_TOKENS", "STOP"),
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", STOPS)
def test_the_reason_to_stop_is_reported(name: str, streamed: bool) -> None:
    """The stop reason of each API."""
    with FakeLlm([say("x"), say("x", stop="max_tokens"), call("t")]) as llm:
        assert tuple(ask(llm, APIS[name], streamed)["stop"] for _ in range(3)) == STOPS[name]


def test_a_refusal_is_reported() -> None:
    """The error format of each API."""
    with FakeLlm([say("No.", stop="refusal")]) as llm:
        assert ask(llm, APIS["anthropic"], True)["stop"] == "refusal"
        assert ask(llm, APIS["chat"], True)["stop"] == "content_filter"
        assert ask(llm, APIS["gemini"], True)["stop"] == "SAFETY"
        parts = load(send(llm, "/v1/responses", APIS["responses"].body))["output"][0]["content"]
    assert parts == [{"type": "refusal", "refusal": "No."}]


def test_a_free_form_tool_gets_plain_text() -> None:
    """As codex declares its apply_patch: the input is not JSON."""
    tools = [{"type": "custom", "name": "apply_patch"}, {"type": "function", "name": "shell"}]
    with FakeLlm([call("apply_patch", input="*** Begin Patch")]) as llm:
        item = load(send(llm, "/v1/responses", {"input": "x", "tools": tools}))["output"][0]
        assert llm.requests[0].tools == ["apply_patch", "shell"]
    assert (item["type"], item["input"]) == ("custom_tool_call", "*** Begin Patch")


def test_gemini_streams_an_array_when_events_are_not_asked_for() -> None:
    """Without alt=sse the API gives one JSON array."""
    with FakeLlm([say("Hello")]) as llm:
        listed: Any = load(send(llm, f"{GEMINI_MODEL}:streamGenerateContent", APIS["gemini"].body))
    assert [APIS["gemini"].whole(message)["text"] for message in listed] == ["Hello"]


@pytest.mark.parametrize("name", APIS)
def test_a_request_is_kept_with_its_history_and_without_its_keys(name: str) -> None:
    """The path, the model and the conversation; never a secret."""
    api = APIS[name]
    keys = {"Authorization": "Bearer S3CRET", "x_api_key": "S3CRET", "x_goog_api_key": "S3CRET"}
    path = api.path + ("&" if "?" in api.path else "?") + "key=S3CRET"
    with FakeLlm() as llm:
        assert send(llm, path, {"model": "gemini-x", **api.body}, **keys).status == 200
        request = llm.requests[0]
    assert (request.number, request.method, request.model) == (1, "POST", "gemini-x")
    assert request.history == ["ONE", "TWO"] and request.holds("TWO") and not request.holds("THREE")
    assert request.query.endswith(f"key={REDACTED}") and request.headers["authorization"] == REDACTED
    assert "S3CRET" not in repr(request)


def test_tool_results_are_in_the_history() -> None:
    """Each API has another key."""
    block = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "RESULT"}]}
    bodies: dict[str, Json] = {
        "anthropic": {"messages": [{"role": "user", "content": [block]}]},
        "chat": {"messages": [{"role": "tool", "tool_call_id": "t", "content": "RESULT"}]},
        "responses": {"input": [{"type": "function_call_output", "call_id": "t", "output": "RESULT"}]},
        "gemini": {"contents": [{"parts": [{"functionResponse": {"response": {"output": "RESULT"}}}]}]},
    }
    with FakeLlm() as llm:
        for name, body in bodies.items():
            send(llm, APIS[name].path, body).close()
        assert [request.history for request in llm.prompts] == [["RESULT"]] * 4


def test_turns_come_in_order_and_the_last_stays() -> None:
    """A turn can be a function of the request; counting and listing take no turn."""

    def echo(request: Request) -> Answer:
        return say(f"{request.number}: {request.history[-1]}")

    with FakeLlm([say("first"), echo]) as llm:
        texts = [ask(llm, APIS["chat"], False)["text"]]
        assert load(send(llm, "/v1/messages/count_tokens", {"messages": TURNS}))["input_tokens"] > 0
        assert load(send(llm, f"{GEMINI_MODEL}:countTokens", {"contents": []}))["totalTokens"] > 0
        texts += [ask(llm, APIS["anthropic"], True)["text"] for _ in range(2)]
        assert (len(llm.requests), len(llm.prompts)) == (5, 3)
    assert texts == ["first", "4: TWO", "5: TWO"]


def test_models_are_listed_for_every_kind_of_client() -> None:
    """OpenAI and Anthropic share a list, Gemini has another; a wrong path is a 404."""
    with FakeLlm() as llm:
        assert load(send(llm, "/v1/models"))["data"][0]["id"] == "fake-model"
        assert load(send(llm, "/v1/models/any"))["id"] == "any"
        assert load(send(llm, "/v1beta/models"))["models"][0]["name"] == "models/fake-model"
        assert send(llm, "/").status == 200
        assert send(llm, "/nowhere").status == send(llm, "/nowhere", {}).status == 404


def test_a_body_in_chunks_and_one_that_is_no_json_are_read() -> None:
    """Chunked requests are read; of invalid JSON only the size is kept."""
    with FakeLlm() as llm:
        connection = HTTPConnection(llm.url.removeprefix("http://"), timeout=20)
        pieces = iter([b'{"messages": [{"content": "', b"x" * 100_000, b'"}]}'])
        connection.request("POST", "/v1/messages", pieces, encode_chunked=True)
        assert connection.getresponse().status == 200
        assert send(llm, "/v1/messages", b"\xff[").status == 200
        assert [(request.history, request.size) for request in llm.requests] == [
            (["x" * 100_000], 100_031),
            ([], 2),
        ]


def test_many_clients_at_once_get_one_turn_each() -> None:
    """Fifty threads, fifty different turns, none twice."""
    texts: list[str] = []
    with FakeLlm([say(str(number)) for number in range(50)]) as llm:
        threads = [
            threading.Thread(target=lambda: texts.append(ask(llm, APIS["chat"], True)["text"]))
            for _ in range(50)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert sorted(texts, key=int) == [str(number) for number in range(50)]


def has_ended(connection: socket.socket) -> bool:
    """A pending connection is reset, any other one is closed."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_close_ends_every_connection() -> None:
    """Waiting and idle clients are disconnected at once."""
    llm = FakeLlm([Silence(600.0)]).start()
    host, _, port = llm.url.removeprefix("http://").partition(":")
    waiting, idle = (socket.create_connection((host, int(port)), 20) for _ in range(2))
    with waiting, idle:
        waiting.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
        while not llm.requests:
            time.sleep(0.01)
        began = time.monotonic()
        llm.close()
        assert has_ended(waiting)
        assert has_ended(idle)
    assert time.monotonic() - began < 5
    with pytest.raises(OSError):
        send(llm, "/v1/models")


def test_closing_what_was_never_started_is_no_problem() -> None:
    """It binds its port when created and releases it."""
    FakeLlm().close()
