"""Uses of tools out of the parts in which providers send them, the careless ones included."""

from __future__ import annotations

import json

import pytest

from ostler.llm.client import ToolUse
from ostler.llm.openai_stream import ChatAnswer
from ostler.llm.tool_parts import ToolParts


def chat(*deltas: list[dict[str, object]]) -> tuple[ToolUse, ...]:
    """What a Chat Completions stream of these tool_calls asks for."""
    answer = ChatAnswer("host")
    for calls in deltas:
        answer.take(json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}).encode())
    return answer.uses


def test_parts_of_two_uses_are_kept_apart() -> None:
    """OpenAI's way: the name once, then pieces of the arguments, each with its index."""
    first = {"index": 0, "id": "a", "function": {"name": "read", "arguments": ""}}
    second = {"index": 1, "id": "b", "function": {"name": "list", "arguments": ""}}
    more = [
        {"index": index, "function": {"arguments": part}}
        for index, part in ((0, '{"x"'), (1, "{}"), (0, ":1}"))
    ]
    uses = chat([first], [second], *([part] for part in more))
    assert uses == (ToolUse("a", "read", '{"x":1}'), ToolUse("b", "list", "{}"))


@pytest.mark.parametrize("index", [{}, {"index": None}])
def test_whole_uses_need_no_index(index: dict[str, object]) -> None:
    """Some servers send each use in one piece and never number them, or give no id."""
    calls = [{**index, "id": id, "function": {"name": "read", "arguments": "{}"}} for id in ("a", None)]
    assert chat(calls) == (ToolUse("a", "read"), ToolUse("call_1", "read"))


def test_a_use_without_a_function_is_still_answered() -> None:
    """The model is then told that there is no such tool."""
    assert chat([{"index": 0, "id": "a", "function": None}]) == (ToolUse("a", "", "{}"),)


def test_arguments_of_nothing_are_nothing() -> None:
    """A part that belongs to no use is not one."""
    parts = ToolParts()
    parts.add(3, '{"x":1}')
    assert parts.uses == ()


@pytest.mark.parametrize("written", ["", "{", "[1]", "null", '"x"', '{"a":"\udcff"}', "[" * 100_000])
def test_what_is_no_object_goes_back_as_an_empty_one(written: str) -> None:
    """The APIs refuse a conversation that holds anything else."""
    assert ToolUse("a", "read", written).input == {}
