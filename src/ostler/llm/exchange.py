"""One question and its answer, whoever the provider is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from ostler.errors import Code
from ostler.llm.client import ClaudeClientConfig, ClaudeRequest, ClaudeResponse, StopReason, ToolUse
from ostler.llm.failure import ModelError, hide
from ostler.llm.patience import patience
from ostler.model.usage import Usage

Body = AbstractAsyncContextManager[AsyncIterator[bytes]]
T = TypeVar("T", bound=Struct)


class Answer(Protocol):
    """Collects one answer from the events of a provider's stream."""

    usage: Usage
    model: str
    stop: StopReason | None  # None: the end has not come

    @property
    def refused(self) -> bool: ...

    @property
    def text(self) -> str:
        """What has been said so far."""
        ...

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        """The tools that were asked for so far."""
        ...

    def take(self, data: bytes) -> bool:
        """Read one event; True when it is part of the answer, not just a sign of life."""
        ...


async def exchange(request: ClaudeRequest, body: Body, answer: Answer, secret: str) -> ClaudeResponse:
    """Read the body to its end within the request's limits. Raises ModelError, with what had come."""
    try:
        async with patience(request) as heard, body as chunks:
            async for event in read_events(chunks):
                data = hide(secret, event)
                if request.on_line is not None:
                    request.on_line(data)
                if answer.take(data):
                    heard()
        return _judge(answer, answer.uses if request.tools else ())
    except ModelError as error:
        error.partial, error.usage = answer.text, answer.usage
        raise


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each server-sent event; comments, names and everything that is no event are left out."""
    buffer = bytearray()
    searched = 0
    async for chunk in chunks:
        buffer += chunk
        while (end := buffer.find(b"\n", searched)) >= 0:
            line = bytes(buffer[:end])
            del buffer[: end + 1]
            searched = 0
            if line.startswith(b"data:"):
                yield line[5:].strip()
        searched = len(buffer)


def read_part(kind: type[T], data: bytes | Raw) -> T:
    """One event, or a part of one. Raises ModelError: what cannot be read would be missing in the answer."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ModelError(Code.STREAM_BROKEN, "a part of the answer could not be read") from None


def require_key(config: ClaudeClientConfig, name: str) -> str:
    """The key, fit for a header. Raises ModelError that names the variable, never the value."""
    key = config.api_key.strip()
    if not key:
        raise ModelError(Code.AUTH_FAILED, f"no key for the model API: {name} is not set")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelError(Code.AUTH_FAILED, f"{name} holds characters that no key has")
    return key


def _judge(answer: Answer, uses: tuple[ToolUse, ...]) -> ClaudeResponse:
    if answer.stop is None:
        raise ModelError(Code.STREAM_BROKEN, "the answer ended before it was complete")
    if answer.refused:
        raise ModelError(Code.REFUSED, "the model declined to answer")
    uses = uses if answer.stop != "max_tokens" else ()  # the last of them may be half of one
    if not answer.text.strip() and not uses:
        raise ModelError(Code.RESPONSE_EMPTY, "the model answered nothing")
    used = answer.usage
    return ClaudeResponse(
        content=answer.text,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        stop_reason=answer.stop,
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
        model=answer.model,
        uses=uses,
    )
