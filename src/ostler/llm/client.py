"""What a model API is to the layers above: one request, one answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, Protocol

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


class Message(Struct, frozen=True):
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    text: str


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

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation, this question included."""
        return (*self.history, Message("user", self.user_message))


class ClaudeResponse(Struct, frozen=True):
    """One answer. The first four fields are the seed's."""

    content: str
    input_tokens: int
    output_tokens: int
    stop_reason: StopReason
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    model: str = ""  # as the provider reported it

    @property
    def usage(self) -> Usage:
        return Usage(self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens)


class ClaudeClient(Protocol):
    """Asks a model once; stateless and safe to share. Retries are the caller's affair."""

    async def complete(self, request: ClaudeRequest) -> ClaudeResponse:
        """The answer, never an empty one. Raises ModelError; cancelling it closes the connection."""
        ...
