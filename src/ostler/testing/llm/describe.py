"""Turns of the fake model in words, for lists and for the log of requests."""

from __future__ import annotations

import inspect
from typing import assert_never

from ostler.testing.llm.limits import Limits
from ostler.testing.llm.script import Scripted
from ostler.testing.llm.turns import Answer, Failure, Flood, Silence
from ostler.text import one_line

_BREAKS = {
    "error_event": "half an answer, then an error event",
    "reset": "half an answer, then the connection is reset",
    "end": "half an answer, then the connection is closed",
    "truncated": "half an answer, cut within a chunk",
    "endless": "an answer without an end",
    "pings": "pings, and no answer",
}
_MAX_TEXT = 50


def describe_turn(turn: Scripted) -> str:
    """Return one line."""
    match turn:
        case Answer():
            return _describe_answer(turn) + _describe_limits(turn.limits)
        case Failure():
            repeated = ", repeated until then" if turn.until_reset else ""
            return _describe_failure(turn) + _describe_limits(turn.limits) + repeated
        case Silence(silence_seconds=seconds):
            return f"no answer for {seconds:g} s, then the connection is closed"
        case Flood(flood_bytes=size, compressed=compressed):
            return f"a body of {size >> 20} MiB" + (", compressed" if compressed else "")
        case _ if callable(turn):
            return (inspect.getdoc(turn) or "a function of the request").partition("\n")[0].rstrip(".")
        case _:
            assert_never(turn)


def _describe_answer(answer: Answer) -> str:
    if answer.breaks:
        error = f" ({answer.error.status})" if answer.error else ""
        return f"{_BREAKS[answer.breaks]}{error}"
    tools = [f"tool call {tool.name}" for tool in answer.tools]
    text = [f'"{one_line(answer.say, _MAX_TEXT)}"'] if answer.say else []
    blocks = [f"block of type {block.get('type')}" for block in answer.blocks]
    parts = ", ".join((*blocks, *text, *tools)) or "an answer without text"
    return f"{parts}, stop reason {answer.stop}" if answer.stop else parts


def _describe_failure(failure: Failure) -> str:
    what = "an HTML page" if failure.html else one_line(failure.message, _MAX_TEXT).rstrip(".")
    waits = f", Retry-After: {failure.retry_after}" if failure.retry_after is not None else ""
    more = "".join(f", {name}: {value}" for name, value in failure.headers.items())
    return f"{failure.status} {what}{waits}{more}"


def _describe_limits(limits: Limits | None) -> str:
    if limits is None:
        return ""
    window = limits.windows[limits.deciding]
    return f", {limits.deciding} {window.used:.0%} used, resets in {window.resets_in_seconds:g} s"
