"""Invalid output of claude."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from ostler.executors.claude.stream import ClaudeStream
from ostler.model.call import (
    AgentEvent,
    LineSkipped,
    SessionStarted,
    TextReceived,
    ThinkingReceived,
    ToolReturned,
    ToolUsed,
    UsageReported,
)
from ostler.model.usage import Usage


def decode(*lines: bytes) -> tuple[ClaudeStream, list[AgentEvent]]:
    events: list[AgentEvent] = []
    observed = ClaudeStream(events.append)
    for line in lines:
        observed.read_line(line)
    observed.close()
    return observed, events


def printed(text: bytes) -> bytes:
    return b'{"type":"assistant","message":{"content":[{"type":"text","text":"' + text + b'"}]}}'


def returned(content: bytes) -> bytes:
    block = b'{"type":"tool_result","tool_use_id":"u1","content":' + content + b"}"
    return b'{"type":"user","message":{"role":"user","content":[' + block + b"]}}"


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (printed(b"plain"), TextReceived("plain")),
        (printed(b"lone \\ud800 half"), TextReceived("lone ? half")),
        (printed(b"bad \xff byte"), TextReceived("bad � byte")),
        (printed(b"nul \x00 inside"), TextReceived("nul \x00 inside")),
        (b"\xef\xbb\xbf" + printed(b"after a BOM"), TextReceived("after a BOM")),
        (b'{"type":"assistant","message":{"content":"a string"}}', TextReceived("a string")),
        (
            b'{"message":{"usage":null,"content":[{"type":"text","text":"x"}]},"type":"assistant"}',
            TextReceived("x"),
        ),
        (
            b'{"type":"assistant","subtype":7,"message":{"content":[{"type":"text","text":"x"}]}}',
            TextReceived("x"),
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
            TextReceived('{"status": "complete"}'),
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
    """A line that the tolerant decoder reads is used (A12)."""
    assert decode(line)[1] == [event]


def test_what_the_answering_tool_returns_is_not_reported() -> None:
    """The tool of the structured output is not reported as a tool."""
    block = b'{"type":"tool_use","id":"u1","name":"StructuredOutput","input":{}}'
    answer = b'{"type":"assistant","message":{"content":[' + block + b"]}}"
    assert decode(answer, returned(b'"Structured output provided"'))[1] == [TextReceived("{}")]


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
    """A line that cannot be read is counted and reported (A14)."""
    observed, events = decode(line, printed(b"next"))
    assert observed.skipped_lines == 1
    assert isinstance(events[0], LineSkipped)
    assert len(events[0].detail) <= 200
    assert events[1] == TextReceived("next")


@pytest.mark.parametrize(
    "line",
    [b"", b"  ", b'{"type":"user","message":{}}', b'{"type":"new_in_3.0"}', b'{"type":"system"}', b"{}"],
)
def test_line_is_passed_over(line: bytes) -> None:
    """Blank lines and unknown kinds are not errors."""
    assert decode(line) and decode(line)[1] == []


def test_millions_of_unread_lines_are_reported_briefly() -> None:
    """Many invalid lines are in the transcript, and few of them send events (A11)."""
    observed, events = decode(*[b"y"] * 1000)
    assert observed.skipped_lines == 1000
    assert len(events) == 21
    assert events[-1] == LineSkipped("and 980 more lines that are not JSON")


def test_usage_without_a_result_is_counted_once_per_message() -> None:
    """A killed run has the usage of its messages; a message has several lines (C78)."""
    message = {"id": "m1", "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}
    other = {**message, "id": "m2"}
    lines = [
        json.dumps({"type": "assistant", "message": body}).encode() for body in (message, message, other)
    ]
    assert decode(*lines)[0].usage == Usage(20, 2)


def test_usage_is_that_of_all_results_and_of_what_came_after_them() -> None:
    """The usage includes all results and the messages after the last one."""
    message = {"content": [], "usage": {"input_tokens": 10, "output_tokens": 5}}
    lines = [json.dumps({"type": "assistant", "message": {**message, "id": id}}).encode() for id in "abc"]
    first = b'{"type":"result","result":"FIRST","usage":{"input_tokens":20,"output_tokens":10}}'
    second = b'{"type":"result","result":"SECOND","usage":{"input_tokens":10,"output_tokens":5}}'
    assert decode(*lines[:2], first)[0].usage == Usage(20, 10)
    assert decode(*lines[:2], first, lines[2])[0].usage == Usage(30, 15)
    assert decode(*lines[:2], first, lines[2], second)[0].usage == Usage(30, 15)


def test_result_is_announced_to_the_runner() -> None:
    """Only a result line returns True."""
    observed = ClaudeStream(lambda _: None)
    assert not observed.read_line(printed(b"x"))
    assert observed.read_line(b'{"subtype":"success","type":"result"}')
    assert not observed.read_line(b'{"type":"system","subtype":"task_notification"}')


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
    """No output raises an exception, and every text can be encoded as UTF-8 (G8)."""
    observed, events = decode(*lines)
    assert msgspec.json.encode(events)
    assert msgspec.json.encode(observed.usage)


def test_tokens_are_reported_with_each_message() -> None:
    """A message is printed once per block and counted once; the result adds what its messages lack."""
    usage = b'"usage":{"input_tokens":9,"output_tokens":1,"cache_read_input_tokens":100}'
    block = b'{"type":"assistant","message":{"id":"m-1",%b,"content":[{"type":"text","text":"x"}]}}' % usage
    result = b'{"type":"result","usage":{"input_tokens":9,"output_tokens":40,"cache_read_input_tokens":100}}'
    _, events = decode(block, block, block.replace(b"m-1", b"m-2"), result.replace(b":9,", b":18,"))
    reported = [event.usage for event in events if isinstance(event, UsageReported)]
    assert reported == [Usage(9, 1, 100), Usage(9, 1, 100), Usage(0, 38)]


def test_thinking_is_reported_and_is_no_text() -> None:
    """A block of thinking is an event of its own, and not a part of the answer."""
    block = b'{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"}]}}'
    assert decode(block)[1] == [ThinkingReceived("hm")]
