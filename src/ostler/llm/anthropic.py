"""Claude through Anthropic's own SDK. Importing this module loads the SDK, which takes a second."""

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

from ostler.clock import Now
from ostler.errors import Code
from ostler.llm.anthropic_stream import MessagesAnswer
from ostler.llm.client import (
    ClaudeClientConfig,
    ClaudeRequest,
    ClaudeResponse,
    Message,
    Tool,
    ToolResult,
    ToolUse,
)
from ostler.llm.exchange import exchange, require_key
from ostler.llm.failure import ModelError, failure_of, hide, one_line, read_rejection
from ostler.llm.http import TIMEOUT, chunks_of, host_of, open_http, unreached

Response = AbstractAsyncContextManager[anthropic.AsyncAPIResponse[Any]]
BASE_URL = "https://api.anthropic.com"


class AnthropicClaudeClient:
    """Asks the Messages API, streamed; the SDK's own retries are off."""

    def __init__(self, config: ClaudeClientConfig, now: Now = time.time) -> None:
        self._config = config
        self._key = require_key(config, "ANTHROPIC_API_KEY")
        self._url = config.base_url or BASE_URL
        self._host = host_of(self._url)
        self._now = now

    async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
        """The answer to one request. Raises ModelError."""
        return await exchange(request, self._ask(request), MessagesAnswer(self._host), self._key)

    @asynccontextmanager
    async def _ask(self, request: ClaudeRequest) -> AsyncGenerator[AsyncIterator[bytes]]:
        try:
            async with open_http() as http, self._send(http, request) as response:
                yield chunks_of(response.http_response)
        except (anthropic.AnthropicError, httpx2.InvalidURL) as error:
            raise self._failure(error) from None

    def _send(self, http: httpx2.AsyncClient, request: ClaudeRequest) -> Response:
        return self._sdk(http).messages.with_streaming_response.create(
            model=request.model,
            max_tokens=request.max_tokens or self._config.default_max_tokens,
            system=request.system_prompt or anthropic.omit,
            messages=[_turn(message) for message in request.messages],
            output_config=_shape(request.schema) if request.schema else anthropic.omit,
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
        """The SDK's errors, special ones first: a lost connection is a kind of its general API error."""
        match error:
            case anthropic.APIConnectionError(__cause__=ModelError() as ours):
                return ours
            case anthropic.APIConnectionError():
                return unreached(error.__cause__ or error, self._host)
            case anthropic.APIStatusError(response=response):
                body = hide(self._key, response.content)
                rejection = read_rejection(response.status_code, body, response.headers.get("retry-after"))
                return failure_of(rejection, self._host, self._now)
            case httpx2.InvalidURL():
                return unreached(error, self._host)
            case _:
                return ModelError(Code.API_ERROR, f"{self._host} could not be asked: {one_line(str(error))}")


def _shape(schema: str) -> OutputConfigParam:
    return {"format": {"type": "json_schema", "schema": msgspec.json.decode(schema)}}


def _tool(tool: Tool) -> ToolParam:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _turn(message: Message) -> MessageParam:
    said: list[TextBlockParam] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    if message.role == "user":
        results = [*map(_result, message.results), *said]
        return {"role": "user", "content": results if message.results else message.text}
    uses = [*said, *map(_use, message.uses)]
    return {"role": "assistant", "content": uses if message.uses else message.text}


def _use(use: ToolUse) -> ToolUseBlockParam:
    return {"type": "tool_use", "id": use.id, "name": use.name, "input": use.input}


def _result(result: ToolResult) -> ToolResultBlockParam:
    given: ToolResultBlockParam = {"type": "tool_result", "tool_use_id": result.id, "content": result.text}
    return {**given, "is_error": True} if result.is_error else given
