"""Secrets that are split between lines of JSON, as agents stream a text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ostler.process.transcript import Transcript
from ostler.secrets.deltas import DeltaRedactor
from ostler.secrets.registry import SECRETS

GITHUB = "ghp_" + "Q7w9" * 9
REGISTERED = "canary-registered-7f3a91c2d4"
WIRES: dict[str, Callable[[str], dict[str, object]]] = {
    "gemini": lambda text: {"type": "message", "role": "assistant", "content": text, "delta": True},
    "acp": lambda text: {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {
            "sessionId": "s",
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}},
        },
    },
    "openai": lambda text: {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]},
    "anthropic": lambda text: {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": text},
    },
    "claude": lambda text: {
        "type": "stream_event",
        "event": {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": text}},
    },
    "copilot": lambda text: {
        "type": "assistant.message_delta",
        "data": {"messageId": "a", "deltaContent": text},
    },
}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    SECRETS.clear()
    SECRETS.register([("ACME", REGISTERED)])
    yield
    SECRETS.clear()


def stream(wire: str, *texts: str) -> bytes:
    return b"".join(json.dumps(WIRES[wire](text)).encode() + b"\n" for text in texts)


def join(written: bytes) -> str:
    """Return the texts of all lines as a reader joins them; every line must be JSON."""
    names = ("content", "text", "partial_json", "deltaContent")

    def texts(value: object) -> Iterator[str]:
        if isinstance(value, list):
            for item in value:
                yield from texts(item)
        if isinstance(value, dict):
            for name, item in value.items():
                if isinstance(item, str) and name in names:
                    yield item
                yield from texts(item)

    return "".join(text for line in written.splitlines() for text in texts(json.loads(line)))


def write(path: Path, data: bytes, size: int) -> bytes:
    path.unlink(missing_ok=True)
    transcript = Transcript(str(path), joins_texts=True)
    for at in range(0, len(data), size):
        transcript.write(data[at : at + size])
    transcript.close()
    return path.read_bytes()


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("secret", [GITHUB, REGISTERED])
def test_a_secret_in_several_lines_is_redacted(tmp_path: Path, wire: str, secret: str) -> None:
    """At every border, in two and in three lines; the number of lines and the other text stay."""
    kind = "github-token" if secret == GITHUB else "ACME"
    for at in range(1, len(secret), 3):
        parts = (f"It is {secret[:at]}", secret[at : at + 5], f"{secret[at + 5 :]} here. ", "Ünd more", ".")
        data = stream(wire, *parts)
        assert secret in join(data)  # the control
        written = write(tmp_path / "raw", data, 100)
        assert join(written) == f"It is [redacted:{kind}] here. Ünd more."
        assert written.count(b"\n") == len(parts)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("size", [7, 64, 100_000])
def test_lines_without_a_secret_are_written_as_they_are(tmp_path: Path, wire: str, size: int) -> None:
    """Byte by byte: with other lines between them, in several reads, and with an end that is cut off."""
    data = (
        stream(wire, "He", "llo gh", "p_ and ", "\U0001f600 bye")
        + b'{"type":"result","delta":1}\nplain delta\n'
    )
    data += stream(wire, "canary-", "birds") + b'{"type":"message","content":"cut off", "delta'
    assert write(tmp_path / "raw", data, size) == data


def test_a_line_about_the_session_does_not_end_the_text(tmp_path: Path) -> None:
    """It is sent at any time; the order of the lines stays."""
    status = b'{"params":{"update":{"used":15,"sessionUpdate":"usage_update"}}}\n'
    data = stream("acp", f"a {GITHUB[:9]}") + status + stream("acp", f"{GITHUB[9:]} b") + status
    written = write(tmp_path / "raw", data, 50)
    assert join(written) == "a [redacted:github-token] b"
    assert [b"usage_update" in line for line in written.splitlines()] == [False, True, False, True]


def test_a_line_of_another_kind_is_written_at_once() -> None:
    """It ends the text before it; only the last line of a text waits."""
    lines, event = DeltaRedactor(), b'{"type":"tool_use"}\n'
    first = stream("gemini", "some text with an open end")
    assert lines.feed(event) == event
    assert lines.feed(first) == b"" and lines.feed(event) == first + event
    assert lines.feed(b"not JSON") == b"not JSON" and lines.feed(b" at all\n{") == b" at all\n"
    assert lines.finish() == b"{"


def test_a_long_line_is_not_held() -> None:
    """The content of a file is passed on in parts."""
    lines = DeltaRedactor()
    part = b'{"content":"' + b"x" * 70_000
    assert lines.feed(part) == part
    assert lines.feed(b'"}\n') == b'"}\n'
    assert lines.feed(stream("gemini", "a. ")) == stream("gemini", "a. ")
