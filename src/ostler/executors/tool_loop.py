"""A conversation with a model in which it may look things up before it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import Code
from ostler.executors.tool_input import object_in, summary_of
from ostler.llm.client import ClaudeClient, ClaudeRequest, ClaudeResponse, Message, ToolResult, ToolUse
from ostler.llm.failure import ModelError
from ostler.llm.patience import patience
from ostler.model.call import OnEvent, TextSaid, ToolReturned, ToolUsed, UsageSeen
from ostler.model.usage import Usage

MOST_ROUNDS = 10

_LAST = "This was the last time that a tool could be used: give your answer now."

UseTools = Callable[[Sequence[ToolUse]], Awaitable[Sequence[ToolResult]]]


class Talk(Struct, frozen=True):
    """How it ended: the model's last word, and what all of them have used."""

    response: ClaudeResponse
    usage: Usage


async def converse(
    client: ClaudeClient, request: ClaudeRequest, use_tools: UseTools, on_event: OnEvent
) -> Talk:
    """Ask until the model answers instead of using tools, within the time of the one request.

    Raises ModelError, with the usage of every round: OUTPUT_LIMIT for a model that never comes to an answer,
    which is final, as the next ten rounds would be like these.
    """
    end = asyncio.get_running_loop().time() + request.timeout_seconds
    used = Usage()
    try:
        for left in reversed(range(MOST_ROUNDS + 1)):
            response = await _ask(client, request, on_event)
            used += response.usage
            if not response.uses:
                return Talk(response, used)
            if left:
                asked = _until(end, request)
                request = _until(end, await _answer(asked, response, use_tools, on_event, last=left == 1))
        spent = f"the model used tools {MOST_ROUNDS} times and still gave no answer"
        raise ModelError(Code.OUTPUT_LIMIT, spent)
    except ModelError as error:
        error.usage += used
        raise


async def _ask(client: ClaudeClient, request: ClaudeRequest, on_event: OnEvent) -> ClaudeResponse:
    """One answer; what had come of one that failed is told, too."""
    try:
        response = await client.complete(request)
    except ModelError as error:
        _tell(error.partial, error.usage, on_event)
        raise
    _tell(response.content, response.usage, on_event)
    return response


def _tell(text: str, usage: Usage, on_event: OnEvent) -> None:
    if text:
        on_event(TextSaid(text))
    if usage.total:
        on_event(UsageSeen(usage))


async def _answer(
    request: ClaudeRequest, response: ClaudeResponse, use_tools: UseTools, on_event: OnEvent, *, last: bool
) -> ClaudeRequest:
    """The next request: this one, what the model asked for, and what came of it."""
    for use in response.uses:
        asked = object_in(use.arguments.encode("utf-8", "replace").decode())
        on_event(ToolUsed(use.name, summary_of(asked), use.id, asked))
    async with patience(request):
        results = tuple(await use_tools(response.uses))
    for result in results:
        on_event(ToolReturned(result.id, result.text, result.is_error))
    if request.on_line is not None:
        for result in results:
            request.on_line(msgspec.json.encode({"type": "tool_result", "result": result}))
    asked = Message("assistant", response.content, uses=response.uses)
    given = Message("user", _LAST if last else "", results=results)
    return replace(request, rounds=(*request.rounds, asked, given))


def _until(end: float, request: ClaudeRequest) -> ClaudeRequest:
    """The request with what is left of the time."""
    return replace(request, timeout_seconds=max(0.0, end - asyncio.get_running_loop().time()))
