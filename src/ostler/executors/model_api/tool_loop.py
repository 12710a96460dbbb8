"""Sends a prompt to a model, and runs the tools that it uses until it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import Code
from ostler.executors.agent_json import parse_object, summarize_input
from ostler.llm.client import ClaudeClient, ClaudeRequest, ClaudeResponse, Message, ToolResult, ToolUse
from ostler.llm.failure import ModelError
from ostler.llm.timeouts import enforce_timeouts
from ostler.model.call import (
    LimitReported,
    OnEvent,
    TextReceived,
    ToolReturned,
    ToolUsed,
    UsageReported,
)
from ostler.model.limits.window import ReportedWindow
from ostler.model.usage import Usage

MAX_ROUNDS = 10

_LAST_ROUND = "No more tools can be used: give your answer now."

UseTools = Callable[[Sequence[ToolUse]], Awaitable[Sequence[ToolResult]]]


class Completion(Struct, frozen=True):
    """The last response of the model, and the usage of all rounds."""

    response: ClaudeResponse
    usage: Usage


async def complete_with_tools(
    client: ClaudeClient, request: ClaudeRequest, use_tools: UseTools, on_event: OnEvent
) -> Completion:
    """Send requests until the model answers instead of using tools, within the timeout of the first request.

    Raise ModelError with the usage of all rounds; OUTPUT_LIMIT when the model does not answer, which is
    final, because ten more rounds would not help.
    """
    end = asyncio.get_running_loop().time() + request.timeout_seconds
    used = Usage()
    try:
        for left in reversed(range(MAX_ROUNDS + 1)):
            response = await _send(client, request, on_event)
            used += response.usage
            if not response.uses:
                return Completion(response, used)
            if left:
                timed = _until(end, request)
                request = _until(end, await _run_tools(timed, response, use_tools, on_event, last=left == 1))
        message = f"the model used tools {MAX_ROUNDS} times and gave no answer"
        raise ModelError(Code.OUTPUT_LIMIT, message)
    except ModelError as error:
        error.usage += used
        raise


async def _send(client: ClaudeClient, request: ClaudeRequest, on_event: OnEvent) -> ClaudeResponse:
    """Return one response; the text and usage of a failed one send events, too."""
    try:
        response = await client.complete(request)
    except ModelError as error:
        _report(error.partial, error.usage, error.windows, on_event)
        raise
    _report(response.content, response.usage, response.windows, on_event)
    return response


def _report(text: str, usage: Usage, windows: tuple[ReportedWindow, ...], on_event: OnEvent) -> None:
    if text:
        on_event(TextReceived(text))
    if usage.total:
        on_event(UsageReported(usage))
    if windows:
        on_event(LimitReported(windows))


async def _run_tools(
    request: ClaudeRequest, response: ClaudeResponse, use_tools: UseTools, on_event: OnEvent, *, last: bool
) -> ClaudeRequest:
    """Return the next request: this one, the tools that the model used, and their results."""
    for use in response.uses:
        tool_input = parse_object(use.arguments.encode("utf-8", "replace").decode())
        on_event(ToolUsed(use.name, summarize_input(tool_input), use.id, tool_input))
    async with enforce_timeouts(request):
        results = tuple(await use_tools(response.uses))
    for result in results:
        on_event(ToolReturned(result.id, result.text, result.is_error))
    if request.on_line is not None:
        for result in results:
            request.on_line(msgspec.json.encode({"type": "tool_result", "result": result}))
    uses = Message("assistant", response.content, uses=response.uses)
    answer = Message("user", _LAST_ROUND if last else "", results=results)
    return replace(request, rounds=(*request.rounds, uses, answer))


def _until(end: float, request: ClaudeRequest) -> ClaudeRequest:
    """Return the request with the time that is left."""
    return replace(request, timeout_seconds=max(0.0, end - asyncio.get_running_loop().time()))
