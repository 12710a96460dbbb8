"""Streamed answers: events from bytes, and answers without keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.errors import Code
from ostler.llm.anthropic import MessagesAnswer
from ostler.llm.client import ClaudeClientConfig, ClaudeRequest, ClaudeResponse, ToolUse
from ostler.llm.exchange import ToolUseBuilder, read_answer, read_events, require_key
from ostler.llm.failure import ModelError
from ostler.llm.openai import ChatAnswer

STREAM = (
    b': hello\n\nevent: a\ndata: {"a": 1}\n\ndata:{"b":2}\r\n\r\nid: 7\ndata: [DONE]\n\nretry: 3\ndata: lost'
)
EVENTS = [b'{"a": 1}', b'{"b":2}', b"[DONE]"]


async def pieces(data: bytes, cuts: list[int]) -> AsyncIterator[bytes]:
    places = sorted({0, *(cut % (len(data) + 1) for cut in cuts), len(data)})
    for begin, end in pairwise(places):
        yield data[begin:end]


async def events_of(data: bytes, cuts: list[int]) -> list[bytes]:
    return [event async for event in read_events(pieces(data, cuts))]


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_events_do_not_depend_on_how_they_arrive(cuts: list[int]) -> None:
    """The same bytes in other chunks give the same events; a line without an end is not an event."""
    assert asyncio.run(events_of(STREAM, cuts)) == EVENTS


@given(st.binary(max_size=300))
def test_any_bytes_can_be_read(data: bytes) -> None:
    """Bytes that are not an event stream give no events and no error."""
    if b"data:" not in data:
        assert asyncio.run(events_of(data, [])) == []


@pytest.mark.parametrize("key", ["", "  ", "sk\nnew", "sk-\u00e9", "two words", "sk\x00"])
def test_a_key_that_cannot_be_one_is_refused_unseen(key: str) -> None:
    """An invalid key is an error that does not contain the key."""
    with pytest.raises(ModelError) as caught:
        require_key(ClaudeClientConfig(key), "SOME_KEY")
    assert caught.value.code is Code.AUTH_FAILED
    assert "SOME_KEY" in caught.value.message
    assert not key.strip() or key not in caught.value.message


def test_a_key_loses_the_newline_of_its_file() -> None:
    """A newline at the end of a key is removed."""
    assert require_key(ClaudeClientConfig(" sk-1\n"), "SOME_KEY") == "sk-1"


def test_a_config_does_not_show_its_key() -> None:
    """The repr of the configuration has no key."""
    assert "sk-1" not in repr(ClaudeClientConfig("sk-1", "http://x"))


def ask_claude(*events: str, secret: str = "sk-0123456789") -> tuple[ClaudeResponse, list[bytes]]:
    """Return the answer of these events, and the lines that were passed on."""
    lines: list[bytes] = []

    @asynccontextmanager
    async def body() -> AsyncIterator[AsyncIterator[bytes]]:
        yield pieces("".join(f"data: {event}\n\n" for event in events).encode(), [])

    requested = ClaudeRequest("", "", "m", on_line=lines.append)
    return asyncio.run(read_answer(requested, body(), MessagesAnswer("host"), secret)), lines


START = '{"type":"message_start","message":{"model":"m-1","usage":{"input_tokens":7,"output_tokens":1}}}'
STOP = '{"type":"message_stop"}'


def text_block(index: int, text: str) -> tuple[str, ...]:
    return (
        f'{{"type":"content_block_start","index":{index},"content_block":{{"type":"text","text":""}}}}',
        f'{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":"{text}"}}}}',
        f'{{"type":"content_block_stop","index":{index}}}',
    )


def message_delta(reason: str, tokens: int = 5) -> str:
    usage = f'{{"output_tokens":{tokens},"cache_read_input_tokens":3}}'
    return f'{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{usage}}}'


def test_text_blocks_are_joined_by_a_blank_line() -> None:
    """C20: other blocks and unknown events are skipped."""
    thinking = '{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":""}}'
    thought = '{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"hm"}}'
    unknown = '{"type":"hologram","delta":"?","index":9}'
    response, lines = ask_claude(
        START,
        *text_block(0, "One."),
        thinking,
        thought,
        unknown,
        *text_block(2, "Two."),
        message_delta("end_turn"),
        STOP,
    )
    assert response == ClaudeResponse("One.\n\nTwo.", 7, 5, "end_turn", 3, 0, "m-1")
    assert len(lines) == 12
    assert lines[0] == START.encode()


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("model_context_window_exceeded", "max_tokens"),
        ("something_new", "end_turn"),
    ],
)
def test_a_reason_to_stop_is_one_of_three(reason: str, stop: str) -> None:
    """An unknown stop reason is a normal end."""
    response, _ = ask_claude(START, *text_block(0, "x"), message_delta(reason), STOP)
    assert response.stop_reason == stop


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ((START, *text_block(0, "half"), message_delta("end_turn")), Code.STREAM_BROKEN),
        (
            (START, *text_block(0, "half"), '{"type":"content_block_delta","delta":{"type":'),
            Code.STREAM_BROKEN,
        ),
        ((START, *text_block(0, "half"), message_delta("refusal"), STOP), Code.REFUSED),
        ((START, *text_block(0, " "), message_delta("end_turn"), STOP), Code.RESPONSE_EMPTY),
        ((START, '{"type":"error","error":{"type":"overloaded_error","message":"x"}}'), Code.OVERLOADED),
        ((), Code.STREAM_BROKEN),
    ],
)
def test_what_came_before_a_failure_is_kept(events: tuple[str, ...], code: Code) -> None:
    """D4, D5, D10: the error has the text and the usage so far."""
    with pytest.raises(ModelError) as caught:
        ask_claude(*events)
    assert caught.value.code is code
    assert caught.value.usage.input_tokens == (7 if events else 0)
    assert caught.value.partial == ("half" if "half" in str(events) else " " if events[3:] else "")


def test_a_key_in_the_answer_is_hidden() -> None:
    """Neither the text nor the transcript contains the key."""
    printed = text_block(0, "it is sk-0123456789")
    response, lines = ask_claude(START, *printed, message_delta("end_turn"), STOP)
    assert response.content == "it is (key)"
    assert not any(b"sk-0123456789" in line for line in lines)


@pytest.mark.parametrize("secret", ["k", "text", "none", "ollama"])
def test_a_key_that_is_a_common_word_leaves_the_answer_alone(secret: str) -> None:
    """A short key of a local server is not redacted, because it may be part of the events."""
    printed = text_block(0, "ok, none of the text is ollama's")
    response, _ = ask_claude(START, *printed, message_delta("end_turn"), STOP, secret=secret)
    assert response.content == "ok, none of the text is ollama's"


def chat(*chunks: str) -> ChatAnswer:
    answer = ChatAnswer("host")
    for chunk in chunks:
        answer.read_event(chunk.encode())
    return answer


def test_a_chat_answer_is_assembled() -> None:
    """Other choices, empty chunks and unknown fields are skipped; cached tokens are counted once."""
    answer = chat(
        '{"model":"g","choices":[{"index":0,"delta":{"role":"assistant","content":null}}]}',
        '{"choices":[{"index":0,"delta":{"content":"Hel","hologram":1}},{"index":1,"delta":{"content":"no"}}]}',
        '{"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}],"usage":null}',
        '{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}',
        '{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":6}}}',
        "[DONE]",
    )
    assert (answer.text, answer.stop, answer.model) == ("Hello", "max_tokens", "g")
    used = answer.usage
    assert (used.input_tokens, used.cache_read_tokens, used.output_tokens) == (4, 6, 4)


def test_done_without_a_reason_is_no_end() -> None:
    """[DONE] without a finish reason is not a complete answer."""
    assert chat('{"choices":[{"delta":{"content":"x"}}]}', "[DONE]").stop is None


def chat_tool_uses(*deltas: list[dict[str, object]]) -> tuple[ToolUse, ...]:
    """Return the tool uses of a Chat Completions stream with these tool_calls."""
    answer = ChatAnswer("host")
    for calls in deltas:
        answer.read_event(json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}).encode())
    return answer.uses


def test_parts_of_two_uses_are_kept_apart() -> None:
    """OpenAI sends the name once, then parts of the arguments with an index."""
    first = {"index": 0, "id": "a", "function": {"name": "read", "arguments": ""}}
    second = {"index": 1, "id": "b", "function": {"name": "list", "arguments": ""}}
    more = [
        {"index": index, "function": {"arguments": part}}
        for index, part in ((0, '{"x"'), (1, "{}"), (0, ":1}"))
    ]
    uses = chat_tool_uses([first], [second], *([part] for part in more))
    assert uses == (ToolUse("a", "read", '{"x":1}'), ToolUse("b", "list", "{}"))


@pytest.mark.parametrize("index", [{}, {"index": None}])
def test_whole_uses_need_no_index(index: dict[str, object]) -> None:
    """Some servers send each use as a whole, without an index or an id."""
    calls = [{**index, "id": id, "function": {"name": "read", "arguments": "{}"}} for id in ("a", None)]
    assert chat_tool_uses(calls) == (ToolUse("a", "read"), ToolUse("call_1", "read"))


def test_a_use_without_a_function_is_still_answered() -> None:
    """The use has an empty name, and the model gets an error."""
    assert chat_tool_uses([{"index": 0, "id": "a", "function": None}]) == (ToolUse("a", "", "{}"),)


def test_arguments_of_nothing_are_nothing() -> None:
    """A part without a use is ignored."""
    parts = ToolUseBuilder()
    parts.add(3, '{"x":1}')
    assert parts.uses == ()


@pytest.mark.parametrize("written", ["", "{", "[1]", "null", '"x"', '{"a":"\udcff"}', "[" * 100_000])
def test_what_is_no_object_goes_back_as_an_empty_one(written: str) -> None:
    """The APIs accept only objects as arguments."""
    assert ToolUse("a", "read", written).input == {}
