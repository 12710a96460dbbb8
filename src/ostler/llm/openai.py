"""Any provider that speaks OpenAI's Chat Completions: OpenAI, vLLM, Ollama, OpenRouter and many more."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import msgspec

from ostler.clock import Now
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
from ostler.llm.failure import ModelError, failure_of, hide, read_rejection
from ostler.llm.http import chunks_of, host_of, open_http, unreached
from ostler.llm.openai_stream import ChatAnswer

Json = dict[str, object]
BASE_URL = "https://api.openai.com/v1"


class OpenAIChatClient:
    """Asks a Chat Completions API, streamed, without retries."""

    def __init__(self, config: ClaudeClientConfig, now: Now = time.time) -> None:
        self._config = config
        self._key = require_key(config, "OPENAI_API_KEY")
        self._url = (config.base_url or BASE_URL).rstrip("/")
        self._host = host_of(self._url)
        self._now = now

    async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
        """The answer to one request. Raises ModelError."""
        return await exchange(request, self._ask(request), ChatAnswer(self._host), self._key)

    @asynccontextmanager
    async def _ask(self, request: ClaudeRequest) -> AsyncGenerator[AsyncIterator[bytes]]:
        async with open_http() as http:
            response = await self._send(http, request)
            try:
                if not response.is_success:
                    raise await self._rejected(response)
                yield chunks_of(response)
            finally:
                await response.aclose()

    async def _send(self, http: httpx2.AsyncClient, request: ClaudeRequest) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self._key}"}
        try:
            asked = http.build_request(
                "POST", f"{self._url}/chat/completions", json=self._body(request), headers=headers
            )
            return await http.send(asked, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unreached(error, self._host) from None

    def _body(self, request: ClaudeRequest) -> Json:
        system = [{"role": "system", "content": request.system_prompt}] if request.system_prompt else []
        # OpenAI's newer models refuse the old name of this limit, other servers do not know the new one.
        limit = "max_completion_tokens" if self._url == BASE_URL else "max_tokens"
        return {
            "model": request.model,
            "messages": [*system, *(turn for message in request.messages for turn in _turns(message))],
            **({"tools": [_tool(tool) for tool in request.tools]} if request.tools else {}),
            limit: request.max_tokens or self._config.default_max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            **(_shape(request.schema) if request.schema else {}),
        }

    async def _rejected(self, response: httpx2.Response) -> ModelError:
        body = hide(self._key, b"".join([chunk async for chunk in chunks_of(response)]))
        rejection = read_rejection(response.status_code, body, response.headers.get("retry-after"))
        return failure_of(rejection, self._host, self._now)


def _shape(schema: str) -> dict[str, object]:
    asked = {"name": "answer", "strict": True, "schema": msgspec.json.decode(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": asked}}


def _tool(tool: Tool) -> Json:
    described = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": described}


def _turns(message: Message) -> list[Json]:
    """Here each result of a tool is a turn of its own."""
    if message.uses:
        calls = [_use(use) for use in message.uses]
        return [{"role": "assistant", "content": message.text or None, "tool_calls": calls}]
    said: list[Json] = [{"role": message.role, "content": message.text}]
    return [*map(_result, message.results), *(said if message.text or not message.results else ())]


def _use(use: ToolUse) -> Json:
    written = msgspec.json.encode(use.input).decode()
    return {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": written}}


def _result(result: ToolResult) -> Json:
    """There is no other sign for a failure than the words."""
    text = f"Error: {result.text}" if result.is_error else result.text
    return {"role": "tool", "tool_call_id": result.id, "content": text}
