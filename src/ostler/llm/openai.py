"""The client of the Chat Completions API: OpenAI, vLLM, Ollama, OpenRouter and many more."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import msgspec
from msgspec import Raw, Struct

from ostler.clock import Now
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
from ostler.llm.http import iter_chunks, make_network_error, open_http, parse_host
from ostler.llm.limits import find_retry_after, read_limit_headers
from ostler.llm.usage import ChatUsage
from ostler.model.limits.window import ReportedWindow
from ostler.model.usage import Usage

Json = dict[str, object]
BASE_URL = "https://api.openai.com/v1"


class OpenAIChatClient:
    """Sends streamed requests to a Chat Completions API, without retries."""

    def __init__(self, config: ClaudeClientConfig, now: Now = time.time) -> None:
        self._config = config
        self._key = require_key(config, "OPENAI_API_KEY")
        self._url = (config.base_url or BASE_URL).rstrip("/")
        self._host = parse_host(self._url)
        self._now = now

    async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
        """Return the response to one request; raise ModelError."""
        answer = ChatAnswer(self._host)
        return await read_answer(request, self._open(request, answer), answer, self._key)

    @asynccontextmanager
    async def _open(self, request: ClaudeRequest, answer: ChatAnswer) -> AsyncGenerator[AsyncIterator[bytes]]:
        async with open_http() as http:
            response = await self._send(http, request)
            try:
                if not response.is_success:
                    raise await self._rejected(response)
                answer.windows = read_limit_headers(response.headers, self._now())
                yield iter_chunks(response)
            finally:
                await response.aclose()

    async def _send(self, http: httpx2.AsyncClient, request: ClaudeRequest) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self._key}"}
        try:
            message = http.build_request(
                "POST", f"{self._url}/chat/completions", json=self._body(request), headers=headers
            )
            return await http.send(message, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise make_network_error(error, self._host) from None

    def _body(self, request: ClaudeRequest) -> Json:
        system = [{"role": "system", "content": request.system_prompt}] if request.system_prompt else []
        # Newer models of OpenAI reject the old name of this limit, other servers reject the new one.
        limit = "max_completion_tokens" if self._url == BASE_URL else "max_tokens"
        return {
            "model": request.model,
            "messages": [*system, *(turn for message in request.messages for turn in _turns(message))],
            **({"tools": [_tool(tool) for tool in request.tools]} if request.tools else {}),
            limit: request.max_tokens or self._config.default_max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            **(_response_format(request.schema) if request.schema else {}),
        }

    async def _rejected(self, response: httpx2.Response) -> ModelError:
        body = redact(self._key, b"".join([chunk async for chunk in iter_chunks(response)]))
        windows = read_limit_headers(response.headers, self._now(), rejected=True)
        rejection = read_rejection(
            response.status_code, body, find_retry_after(response.headers), windows, self._now
        )
        return make_error(rejection, self._host, self._now)


def _response_format(schema: str) -> dict[str, object]:
    json_schema = {"name": "answer", "strict": True, "schema": msgspec.json.decode(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": json_schema}}


def _tool(tool: Tool) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _turns(message: Message) -> list[Json]:
    # In this API each result of a tool is a message of its own.
    if message.uses:
        calls = [_use(use) for use in message.uses]
        return [{"role": "assistant", "content": message.text or None, "tool_calls": calls}]
    text: list[Json] = [{"role": message.role, "content": message.text}]
    return [*map(_result, message.results), *(text if message.text or not message.results else ())]


def _use(use: ToolUse) -> Json:
    arguments = msgspec.json.encode(use.input).decode()
    return {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": arguments}}


def _result(result: ToolResult) -> Json:
    # This API has no field for a failure.
    text = f"Error: {result.text}" if result.is_error else result.text
    return {"role": "tool", "tool_call_id": result.id, "content": text}


_DONE = b"[DONE]"
_NOTHING = Raw(b"null")


class _Function(Struct, frozen=True):
    name: str | None = None
    arguments: str | None = None


class _ToolCall(Struct, frozen=True):
    """The start of a tool use, or a part of it."""

    index: int | None = None  # None: the server sends each use as a whole
    id: str | None = None
    function: _Function | None = None


class _Delta(Struct, frozen=True):
    content: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(Struct, frozen=True):
    index: int = 0
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(Struct, frozen=True):
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: ChatUsage | None = None
    error: Raw = _NOTHING


class ChatAnswer:
    """Builds one answer from its chunks; a finish reason ends it."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._parts: list[str] = []
        self._tools = ToolUseBuilder()
        self.usage = Usage()
        self.model = ""
        self.refused = False
        self.stop: StopReason | None = None
        self.windows: tuple[ReportedWindow, ...] = ()

    @property
    def text(self) -> str:
        return "".join(self._parts)

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        return self._tools.uses

    def read_event(self, data: bytes) -> bool:
        """Read one chunk; return True, because every chunk is part of the answer."""
        if data == _DONE:
            return True
        chunk = decode_part(_Chunk, data)
        if bytes(chunk.error) != bytes(_NOTHING):
            raise make_error(read_rejection(200, data), self._host)
        self.model = chunk.model or self.model
        if chunk.usage is not None:
            self.usage = chunk.usage.count()
        for choice in chunk.choices or ():
            self._read_choice(choice)
        return True

    def _read_choice(self, choice: _Choice) -> None:
        if choice.index == 0 and choice.delta is not None:
            self._parts.append(choice.delta.content or "")
            for call in choice.delta.tool_calls or ():
                self._add(call)
        if choice.finish_reason is not None:
            self.refused = choice.finish_reason == "content_filter"
            self.stop = "max_tokens" if choice.finish_reason == "length" else "end_turn"

    def _add(self, call: _ToolCall) -> None:
        index = len(self._tools) if call.index is None else call.index
        function = call.function or _Function()
        self._tools.start(index, call.id or "", function.name or "")
        self._tools.add(index, function.arguments or "")
