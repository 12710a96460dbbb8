"""Faults D1 to D12, scripts from files, and the command line."""

from __future__ import annotations

import json
import time
import zlib
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from typing import Any

import msgspec
import pytest

from ostler.testing.fake_llm import (
    FAULTS,
    Answer,
    Failure,
    FakeLlm,
    Flood,
    Silence,
    limited,
    read_script,
    say,
)

PATHS = {
    "/v1/messages": {"messages": []},
    "/v1/chat/completions": {"messages": []},
    "/v1/responses": {"input": []},
    "/v1beta/models/m:streamGenerateContent?alt=sse": {"contents": []},
}


def send(llm: FakeLlm, path: str = "/v1/messages", stream: bool = False) -> HTTPResponse:
    connection = HTTPConnection(llm.url.removeprefix("http://"), timeout=20)
    connection.request("POST", path, json.dumps({"stream": stream, **PATHS[path]}).encode())
    return connection.getresponse()


STATUSES = {name: turn for name, turn in FAULTS.items() if isinstance(turn, Failure)}


@pytest.mark.parametrize("name", STATUSES)
def test_a_failure_has_its_status_header_and_message_in_every_api(name: str) -> None:
    """The reason is where the API has it."""
    turn = STATUSES[name]
    with FakeLlm([turn]) as llm:
        for path in PATHS:
            with send(llm, path) as response:
                body = response.read().decode()
            assert (response.status, response.getheader("Retry-After")) == (turn.status, turn.retry_after)
            assert body == turn.html or json.loads(body)["error"]["message"] == turn.message


def test_a_limit_can_end_at_a_date() -> None:
    """D1: the date is an hour from the moment of the request, not of the import."""
    with FakeLlm([FAULTS["d1_date"]]) as llm, send(llm) as response:
        until = parsedate_to_datetime(response.getheader("Retry-After") or "")
    assert 3000 < until.timestamp() - time.time() <= 3600


def broken(name: str, path: str) -> bytes:
    """What a client has received when the stream breaks."""
    turn = FAULTS[name]
    assert isinstance(turn, Answer)
    with FakeLlm([turn]) as llm, send(llm, path, stream=True) as response:
        return response.read()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", ["d5_reset", "d5_truncated"])
def test_a_connection_that_breaks_is_an_error_of_http(name: str, path: str) -> None:
    """D5: no client can mistake it for a complete answer."""
    with pytest.raises((ConnectionResetError, IncompleteRead)):
        broken(name, path)


@pytest.mark.parametrize("path", PATHS)
def test_a_stream_can_end_without_its_end(path: str) -> None:
    """D5: valid HTTP, but half of the text and the last event are missing."""
    data = broken("d5_end", path).decode()
    assert "data: " in data
    for last in ("message_stop", "[DONE]", "response.completed", "finishReason"):
        assert last not in data


@pytest.mark.parametrize("path", PATHS)
def test_an_error_can_come_inside_a_stream(path: str) -> None:
    """D4: status 200, half of the answer, then the error in the form of the API."""
    data = broken("d4_error_event", path).decode()
    assert "Overloaded" in data.strip().rpartition("data: ")[2]


def test_without_a_stream_the_error_is_a_status() -> None:
    """D4: a client without streaming gets the same error."""
    with FakeLlm([FAULTS["d4_error_event"]]) as llm, send(llm) as response:
        assert response.status == 529


@pytest.mark.parametrize(("name", "sign"), [("d6_pings", b"event: ping"), ("d6_endless", b":::")])
def test_pings_end_after_the_requested_time(name: str, sign: bytes) -> None:
    """D6: only pings, then the end of the connection."""
    turn = FAULTS[name]
    assert isinstance(turn, Answer)
    with FakeLlm([msgspec.structs.replace(turn, every_seconds=0.02, lasts_seconds=0.2)]) as llm:
        began = time.monotonic()
        with pytest.raises(IncompleteRead) as caught, send(llm, stream=True) as response:
            response.read()
    assert sign in caught.value.partial
    assert 0.2 <= time.monotonic() - began < 5


def test_silence_ends_after_the_requested_time() -> None:
    """D7: the connection is accepted without an answer."""
    with FakeLlm([Silence(0.2)]) as llm, pytest.raises((HTTPException, ConnectionError)):
        send(llm)


def test_an_answer_can_take_its_time() -> None:
    """The delay comes before the first byte."""
    with FakeLlm([say("x", delay_seconds=0.3)]) as llm:
        began = time.monotonic()
        send(llm).close()
    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize("compressed", [False, True])
def test_a_flood_has_the_requested_size(compressed: bool) -> None:
    """D12: valid JSON of this size; compressed, it is a thousandth of it."""
    with FakeLlm([Flood(8 << 20, compressed)]) as llm, send(llm) as response:
        data = response.read()
    whole = zlib.decompress(data, wbits=31) if compressed else data
    assert json.loads(whole) == {} and len(whole) == (8 << 20) + 2
    assert not compressed or len(data) < 20_000


def test_a_client_may_leave_in_the_middle_of_a_flood(capfd: pytest.CaptureFixture[str]) -> None:
    """Sending stops when the client disconnects, and nothing is printed."""
    with FakeLlm([FAULTS["d12_huge"]]) as llm:
        with send(llm) as response:
            assert len(response.read(1 << 20)) == 1 << 20
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert capfd.readouterr() == ("", "")


def test_a_script_that_raises_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    """An error in a test's own function is printed."""

    def wrong(request: Any) -> Answer:
        raise LookupError("the script is wrong")

    with FakeLlm(wrong) as llm, pytest.raises((HTTPException, ConnectionError)):
        send(llm)
    assert "the script is wrong" in capfd.readouterr().err


def test_a_script_is_read_from_yaml() -> None:
    """Texts, faults by name, and every field of a turn."""
    text = """
- Hello
- {say: Hm., tools: [{name: Bash, input: {command: ls}}], usage: {input_tokens: 3}}
- {fault: d3_529}
- {status: 429, retry_after: "7", message: slow down}
- {silence_seconds: 1}
"""
    first, second, third, fourth, fifth = read_script(text)
    assert (first, third) == (say("Hello"), FAULTS["d3_529"])
    assert isinstance(second, Answer) and second.tools[0].input == {"command": "ls"}
    assert fourth == msgspec.structs.replace(limited("7"), message="slow down")
    assert fifth == Silence(1.0)


@pytest.mark.parametrize("text", ["say: x", "- 5", "- {sya: x}", "- {fault: d99}", "- {status: many}", "- ["])
def test_a_wrong_script_is_refused(text: str) -> None:
    """Unknown entries are errors."""
    with pytest.raises(msgspec.DecodeError):
        read_script(text)
