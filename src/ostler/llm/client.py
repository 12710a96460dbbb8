"""What a model API is to the layers above: one request, one answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from ostler.model.usage import Usage

StopReason = Literal["end_turn", "max_tokens", "stop_sequence"]
OnLine = Callable[[bytes], None]
"""Takes one event of the answer, as the JSON that the provider sent."""

DEFAULT_MODEL_MAP = {
    "opus": "claude-opus-4-6",
    "sonnet": "claude-sonnet-4-5-20250929",
    "haiku": "claude-haiku-4-5-20251001",
}


class Tool(Struct, frozen=True):
    """Something that the model may ask us to do."""

    name: str
    description: str
    parameters: dict[str, object]  # as a JSON schema


class ToolUse(Struct, frozen=True):
    """The model asks for it; `arguments` is the JSON that it wrote, which may be none."""

    id: str
    name: str
    arguments: str = "{}"

    @property
    def input(self) -> dict[str, object]:
        """The arguments as the APIs want them sent back; what is no object is an empty one."""
        try:
            return msgspec.json.decode(self.arguments, type=dict[str, object])
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return {}


class ToolResult(Struct, frozen=True):
    """What came of it."""

    id: str
    text: str
    is_error: bool = False


class Message(Struct, frozen=True, omit_defaults=True):
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    text: str
    uses: tuple[ToolUse, ...] = ()  # assistant: tools that it asks for
    results: tuple[ToolResult, ...] = ()  # user: what they gave, before the text


class ClaudeClientConfig(Struct, frozen=True):
    """Who is asked, and with which key."""

    api_key: str
    base_url: str = ""  # empty: the provider's own
    default_max_tokens: int = 4096
    bearer: bool = False  # the key is an access token, not an API key

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self.base_url!r})"


class ClaudeRequest(Struct, frozen=True):
    """One question. The first five fields are the seed's."""

    system_prompt: str
    user_message: str
    model: str
    max_tokens: int = 0  # 0: the client's default
    abort: asyncio.Event | None = None  # once it is set the request ends with ABORTED
    history: tuple[Message, ...] = ()  # the turns before, oldest first
    timeout_seconds: float = 3600.0  # for the whole answer
    idle_timeout_seconds: float = 600.0  # between two parts of it
    on_line: OnLine | None = None
    schema: str = ""  # of the answer, as JSON; empty: free text
    tools: tuple[Tool, ...] = ()  # what the model may use
    rounds: tuple[Message, ...] = ()  # after the question: the tools that it asked for, and what they gave

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation, this question included."""
        return (*self.history, Message("user", self.user_message), *self.rounds)


class ClaudeResponse(Struct, frozen=True):
    """One answer. The first four fields are the seed's."""

    content: str
    input_tokens: int
    output_tokens: int
    stop_reason: StopReason
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    model: str = ""  # as the provider reported it
    uses: tuple[ToolUse, ...] = ()  # tools that the model waits for; the content is then not the last word

    @property
    def usage(self) -> Usage:
        return Usage(self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens)


class ClaudeClient(Protocol):
    """Asks a model once; stateless and safe to share. Retries are the caller's affair."""

    async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
        """The answer, never an empty one. Raises ModelError; cancelling it closes the connection."""
        ...
