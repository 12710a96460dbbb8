"""The interface of a model API: one request, one response."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from ostler.model.limits.window import ReportedWindow
from ostler.model.usage import Usage

StopReason = Literal["end_turn", "max_tokens", "stop_sequence"]
OnLine = Callable[[bytes], None]
"""Receives one event of the answer, as the JSON that the provider sent."""

DEFAULT_MODEL_MAP = {
    "opus": "claude-opus-4-6",
    "sonnet": "claude-sonnet-4-6",
    "haiku": "claude-haiku-4-5-20251001",
}


class Tool(Struct, frozen=True):
    """A tool that the model may use."""

    name: str
    description: str
    parameters: dict[str, object]  # a JSON schema


class ToolUse(Struct, frozen=True):
    """One use of a tool; `arguments` is the JSON that the model wrote, which may be invalid."""

    id: str
    name: str
    arguments: str = "{}"

    @property
    def input(self) -> dict[str, object]:
        """The arguments as an object; an empty one when they are not a JSON object."""
        try:
            return msgspec.json.decode(self.arguments, type=dict[str, object])
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return {}


class ToolResult(Struct, frozen=True):
    """The result of a tool."""

    id: str
    text: str
    is_error: bool = False


class Message(Struct, frozen=True, omit_defaults=True):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    text: str
    uses: tuple[ToolUse, ...] = ()  # assistant: the tools that it uses
    results: tuple[ToolResult, ...] = ()  # user: the results of tools, before the text


class ClaudeClientConfig(Struct, frozen=True):
    """The address and the key of a model API."""

    api_key: str
    base_url: str = ""  # empty: that of the provider
    default_max_tokens: int = 4096
    bearer: bool = False  # the key is an access token, not an API key

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self.base_url!r})"


class ClaudeRequest(Struct, frozen=True):
    """One request; the first five fields are those of the marketing agents."""

    system_prompt: str
    user_message: str
    model: str
    max_tokens: int = 0  # 0: the client's default
    signal: asyncio.Event | None = None  # when it is set, the request ends with ABORTED
    history: tuple[Message, ...] = ()  # the earlier messages, oldest first
    timeout_seconds: float = 3600.0  # for the whole answer
    idle_timeout_seconds: float = 600.0  # between two events of the answer
    on_line: OnLine | None = None
    schema: str = ""  # of the answer, as JSON; empty: free text
    tools: tuple[Tool, ...] = ()  # that the model may use
    rounds: tuple[Message, ...] = ()  # after the prompt: uses of tools and their results

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation, with this prompt."""
        return (*self.history, Message("user", self.user_message), *self.rounds)


class ClaudeResponse(Struct, frozen=True):
    """One response; the first four fields are those of the marketing agents."""

    content: str
    input_tokens: int
    output_tokens: int
    stop_reason: StopReason
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    model: str = ""  # as the provider reported it
    uses: tuple[ToolUse, ...] = ()  # tools that the model waits for; the content is not final then
    windows: tuple[ReportedWindow, ...] = ()  # limits of the account, from the headers

    @property
    def usage(self) -> Usage:
        """The token counts."""
        return Usage(self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens)


class ClaudeClient(Protocol):
    """Sends requests to a model; it has no state, can be shared, and does not retry."""

    async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
        """Return a response that is not empty; raise ModelError. Cancellation closes the connection."""
        ...
