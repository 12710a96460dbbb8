"""The client of Anthropic's Messages API; importing this module loads the SDK, which takes a second."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anthropic
import httpx2
import msgspec
from anthropic.types import (
    MessageParam,
    OutputConfigParam,
    TextBlockParam,
    ToolParam,
    ToolResultBlockParam,
    ToolUseBlockParam,
)
from msgspec import Raw, Struct

from ostler.clock import Now
from ostler.errors import Code
from ostler.llm.client import (
    ClaudeClientConfig,
    ClaudeRequest,
    ClaudeResponse,
    Message,
    StopReason,
    Tool,
    ToolResult,
    ToolUse,
)
from ostler.llm.exchange import ToolUseBuilder, decode_part, read_answer, require_key
from ostler.llm.failure import ModelError, make_error, read_rejection, redact
from ostler.llm.http import TIMEOUT, iter_chunks, make_network_error, open_http, parse_host
from ostler.llm.limits import find_retry_after, read_limit_headers
from ostler.llm.usage import MessagesUsage
from ostler.model.limits.window import ReportedWindow
from ostler.model.usage import Usage
from ostler.text import one_line

Response = AbstractAsyncContextManager[anthropic.AsyncAPIResponse[Any]]
BASE_URL = "https://api.anthropic.com"


class AnthropicClaudeClient:
    """Sends streamed requests to the Messages API; the retries of the SDK are off."""

    def __init__(self, config: ClaudeClientConfig, now: Now = time.time) -> None:
        self._config = config
        self._key = require_key(config, "ANTHROPIC_API_KEY")
        self._url = config.base_url or BASE_URL
        self._host = parse_host(self._url)
        self._now = now

    async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
        """Return the response to one request; raise ModelError."""
        answer = MessagesAnswer(self._host)
        return await read_answer(request, self._open(request, answer), answer, self._key)

    @asynccontextmanager
    async def _open(
        self, request: ClaudeRequest, answer: MessagesAnswer
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        try:
            async with open_http() as http, self._send(http, request) as response:
                answer.windows = read_limit_headers(response.headers, self._now())
                yield iter_chunks(response.http_response)
        except (anthropic.AnthropicError, httpx2.InvalidURL) as error:
            raise self._failure(error) from None

    def _send(self, http: httpx2.AsyncClient, request: ClaudeRequest) -> Response:
        return self._sdk(http).messages.with_streaming_response.create(
            model=request.model,
            max_tokens=request.max_tokens or self._config.default_max_tokens,
            system=request.system_prompt or anthropic.omit,
            messages=[_turn(message) for message in request.messages],
            output_config=_output_config(request.schema) if request.schema else anthropic.omit,
            tools=[_tool(tool) for tool in request.tools] or anthropic.omit,
            stream=True,
        )

    def _sdk(self, http: httpx2.AsyncClient) -> anthropic.AsyncAnthropic:
        key, token = (None, self._key) if self._config.bearer else (self._key, None)
        return anthropic.AsyncAnthropic(
            api_key=key,
            auth_token=token,
            base_url=self._url,
            max_retries=0,
            timeout=TIMEOUT,
            http_client=http,
        )

    def _failure(self, error: Exception) -> ModelError:
        # A lost connection is a subclass of the general API error, so it comes first.
        match error:
            case anthropic.APIConnectionError(__cause__=ModelError() as model_error):
                return model_error
            case anthropic.APIConnectionError():
                return make_network_error(error.__cause__ or error, self._host)
            case anthropic.APIStatusError(response=response):
                body, headers = redact(self._key, response.content), response.headers
                windows = read_limit_headers(headers, self._now(), rejected=True)
                rejection = read_rejection(
                    response.status_code, body, find_retry_after(headers), windows, self._now
                )
                return make_error(rejection, self._host, self._now)
            case httpx2.InvalidURL():
                return make_network_error(error, self._host)
            case _:
                return ModelError(Code.API_ERROR, f"{self._host} could not be called: {one_line(str(error))}")


def _output_config(schema: str) -> OutputConfigParam:
    return {"format": {"type": "json_schema", "schema": msgspec.json.decode(schema)}}


def _tool(tool: Tool) -> ToolParam:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _turn(message: Message) -> MessageParam:
    text: list[TextBlockParam] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    if message.role == "user":
        results = [*map(_result, message.results), *text]
        return {"role": "user", "content": results if message.results else message.text}
    uses = [*text, *map(_use, message.uses)]
    return {"role": "assistant", "content": uses if message.uses else message.text}


def _use(use: ToolUse) -> ToolUseBlockParam:
    return {"type": "tool_use", "id": use.id, "name": use.name, "input": use.input}


def _result(result: ToolResult) -> ToolResultBlockParam:
    block: ToolResultBlockParam = {"type": "tool_result", "tool_use_id": result.id, "content": result.text}
    return {**block, "is_error": True} if result.is_error else block


_EMPTY = Raw(b"{}")
_STOPS: dict[str, StopReason] = {
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "stop_sequence": "stop_sequence",
}


class _Event(Struct, frozen=True):
    type: str = ""
    index: int = 0
    message: Raw = _EMPTY
    content_block: Raw = _EMPTY
    delta: Raw = _EMPTY
    usage: Raw = _EMPTY


class _Message(Struct, frozen=True):
    model: str = ""
    usage: MessagesUsage = MessagesUsage()


class _Block(Struct, frozen=True):
    """The start of a block, or a part of it."""

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    partial_json: str = ""


class _End(Struct, frozen=True):
    stop_reason: str | None = None


class MessagesAnswer:
    """Builds one answer from its events; text blocks are joined by an empty line."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._blocks: dict[int, list[str]] = {}
        self._tools = ToolUseBuilder()
        self._reason = ""
        self.usage = Usage()
        self.model = ""
        self.stop: StopReason | None = None
        self.windows: tuple[ReportedWindow, ...] = ()

    @property
    def text(self) -> str:
        blocks = ("".join(parts) for parts in self._blocks.values())
        return "\n\n".join(block for block in blocks if block)

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        return self._tools.uses

    @property
    def refused(self) -> bool:
        return self._reason == "refusal"

    def read_event(self, data: bytes) -> bool:
        """Read one event; return False for a ping or an unknown event."""
        event = decode_part(_Event, data)
        match event.type:
            case "message_start":
                self._begin(decode_part(_Message, event.message))
            case "content_block_start":
                self._add(event.index, decode_part(_Block, event.content_block))
            case "content_block_delta":
                self._add(event.index, decode_part(_Block, event.delta))
            case "message_delta":
                self._reason = decode_part(_End, event.delta).stop_reason or self._reason
                self.usage = decode_part(MessagesUsage, event.usage).update(self.usage)
            case "message_stop":
                self.stop = _STOPS.get(self._reason, "end_turn")
            case "error":
                raise make_error(read_rejection(200, data), self._host)
            case _:
                return event.type == "content_block_stop"
        return True

    def _begin(self, message: _Message) -> None:
        self.model = message.model
        self.usage = message.usage.update(self.usage)

    def _add(self, index: int, block: _Block) -> None:
        match block.type:
            case "text" | "text_delta":
                self._blocks.setdefault(index, []).append(block.text)
            case "tool_use":
                self._tools.start(index, block.id, block.name)
            case "input_json_delta":
                self._tools.add(index, block.partial_json)
            case _:
                # Thinking and other kinds are not part of the answer.
                pass
