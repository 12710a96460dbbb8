"""Claude's stream when it is not what it should be."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from ostler.executors.claude_stream import ClaudeStream
from ostler.model.call import AgentEvent, LineUnread, SessionStarted, TextSaid, ToolReturned, ToolUsed
from ostler.model.usage import Usage


def hear(*lines: bytes) -> tuple[ClaudeStream, list[AgentEvent]]:
    events: list[AgentEvent] = []
    heard = ClaudeStream(events.append)
    for line in lines:
        heard.take(line)
    heard.close()
    return heard, events


def said(text: bytes) -> bytes:
    return b'{"type":"assistant","message":{"content":[{"type":"text","text":"' + text + b'"}]}}'


def returned(content: bytes) -> bytes:
    block = b'{"type":"tool_result","tool_use_id":"u1","content":' + content + b"}"
    return b'{"type":"user","message":{"role":"user","content":[' + block + b"]}}"


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (said(b"plain"), TextSaid("plain")),
        (said(b"lone \\ud800 half"), TextSaid("lone ? half")),
        (said(b"bad \xff byte"), TextSaid("bad � byte")),
        (said(b"nul \x00 inside"), TextSaid("nul \x00 inside")),
        (b"\xef\xbb\xbf" + said(b"after a BOM"), TextSaid("after a BOM")),
        (b'{"type":"assistant","message":{"content":"a string"}}', TextSaid("a string")),
        (
            b'{"message":{"usage":null,"content":[{"type":"text","text":"x"}]},"type":"assistant"}',
            TextSaid("x"),
        ),
        (
            b'{"type":"assistant","subtype":7,"message":{"content":[{"type":"text","text":"x"}]}}',
            TextSaid("x"),
        ),
        (
            b'{"type":"assistant","message":{"content":[{"type":"tool_use","name":"T","input":{"command":5}}]}}',
            ToolUsed("T", "", "", Raw(b'{"command":5}')),
        ),
        (
            b'{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Write","input":{"content":"'
            + b"x" * 5000
            + b'","file_path":"a.py"}}]}}',
            ToolUsed("Write", "a.py", "", Raw(b'{"content":"' + b"x" * 5000 + b'","file_path":"a.py"}')),
        ),
        (
            b'{"type":"assistant","message":{"content":[{"type":"tool_use","name":"StructuredOutput","input":'
            b'{"status": "complete"}}]}}',
            TextSaid('{"status": "complete"}'),
        ),
        (
            b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"u1","name":"T"}]}}',
            ToolUsed("T", "", "u1"),
        ),
        (returned(b'"hi"'), ToolReturned("u1", "hi")),
        (returned(b'"no",  "is_error": true'), ToolReturned("u1", "no", failed=True)),
        (returned(b'[{"type":"text","text":"a"},{"type":"image"}]'), ToolReturned("u1", "a\n[image]")),
        (returned(b'"lone \\ud800 half"'), ToolReturned("u1", "lone ? half")),
        (returned(b"null"), ToolReturned("u1")),
        (b'{"type":"system","subtype":"init","session_id":"s","tools":null}', SessionStarted("s")),
    ],
)
def test_line_is_read(line: bytes, event: AgentEvent) -> None:
    """What json or a second look can read is heard (A12)."""
    assert hear(line)[1] == [event]


def test_what_the_answering_tool_returns_is_nobodys_business() -> None:
    """The tool by which claude answers to a schema is no tool of the work."""
    block = b'{"type":"tool_use","id":"u1","name":"StructuredOutput","input":{}}'
    answer = b'{"type":"assistant","message":{"content":[' + block + b"]}}"
    assert hear(answer, returned(b'"Structured output provided"'))[1] == [TextSaid("{}")]


@pytest.mark.parametrize(
    "line",
    [
        b"Warning: something",
        b'{"type":"assistant","mess',
        b'["type","assistant"]',
        b"42",
        b"\xff\xfe\x00",
        b'{"a":' * 5000,
        b"[" * 100_000,
        b'{"type":"assistant","message":[]}',
    ],
)
def test_line_is_unread(line: bytes) -> None:
    """What nobody can read is counted and told, and does no harm (A14)."""
    heard, events = hear(line, said(b"next"))
    assert heard.unread == 1
    assert isinstance(events[0], LineUnread)
    assert len(events[0].detail) <= 200
    assert events[1] == TextSaid("next")


@pytest.mark.parametrize(
    "line",
    [b"", b"  ", b'{"type":"user","message":{}}', b'{"type":"new_in_3.0"}', b'{"type":"system"}', b"{}"],
)
def test_line_is_passed_over(line: bytes) -> None:
    """Blank lines and kinds that tell the caller nothing are not mistakes."""
    assert hear(line) and hear(line)[1] == []


def test_millions_of_unread_lines_are_told_briefly() -> None:
    """An agent that prints rubbish fills the transcript, not the journal (A11)."""
    heard, events = hear(*[b"y"] * 1000)
    assert heard.unread == 1000
    assert len(events) == 21
    assert events[-1] == LineUnread("and 980 more lines that are not JSON")


def test_usage_without_a_result_is_counted_once_per_message() -> None:
    """A killed run reports what its messages had cost; one message comes as several lines (C78)."""
    message = {"id": "m1", "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}
    other = {**message, "id": "m2"}
    lines = [
        json.dumps({"type": "assistant", "message": body}).encode() for body in (message, message, other)
    ]
    assert hear(*lines)[0].usage == Usage(20, 2)


def test_usage_is_that_of_all_results_and_of_what_came_after_them() -> None:
    """A background task makes claude answer twice, and a kill may come before the second result."""
    message = {"content": [], "usage": {"input_tokens": 10, "output_tokens": 5}}
    lines = [json.dumps({"type": "assistant", "message": {**message, "id": id}}).encode() for id in "abc"]
    first = b'{"type":"result","result":"FIRST","usage":{"input_tokens":20,"output_tokens":10}}'
    second = b'{"type":"result","result":"SECOND","usage":{"input_tokens":10,"output_tokens":5}}'
    assert hear(*lines[:2], first)[0].usage == Usage(20, 10)
    assert hear(*lines[:2], first, lines[2])[0].usage == Usage(30, 15)
    assert hear(*lines[:2], first, lines[2], second)[0].usage == Usage(30, 15)


def test_result_is_announced_to_the_runner() -> None:
    """Only a result line starts the runner's wait for the exit."""
    heard = ClaudeStream(lambda _: None)
    assert not heard.take(said(b"x"))
    assert heard.take(b'{"subtype":"success","type":"result"}')
    assert not heard.take(b'{"type":"system","subtype":"task_notification"}')


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
MEMBERS = (
    "message",
    "result",
    "usage",
    "session_id",
    "permission_denials",
    "content",
    "error",
    "errors",
    "model",
)
LINES = st.builds(
    lambda kind, subtype, members: json.dumps({"type": kind, "subtype": subtype, **members}).encode(),
    st.sampled_from(["system", "assistant", "user", "result"]) | JSON,
    st.sampled_from(["init", "api_retry", "permission_denied", "model_fallback"]) | JSON,
    st.dictionaries(st.sampled_from(MEMBERS), JSON),
)


@given(st.lists(LINES | st.binary(max_size=80), max_size=6))
def test_no_stream_breaks_the_decoder(lines: list[bytes]) -> None:
    """Whatever an agent prints, nothing is raised and every text can be stored as UTF-8 (G8)."""
    heard, events = hear(*lines)
    assert msgspec.json.encode(events)
    assert msgspec.json.encode(heard.usage)
