"""Reads one streamed answer, the same way for every provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from ostler.errors import Code
from ostler.llm.client import ClaudeClientConfig, ClaudeRequest, ClaudeResponse, StopReason, ToolUse
from ostler.llm.event_stream import EventStream
from ostler.llm.failure import ModelError, redact
from ostler.llm.timeouts import enforce_timeouts
from ostler.model.limits.window import ReportedWindow
from ostler.model.usage import Usage

Body = AbstractAsyncContextManager[AsyncIterator[bytes]]
T = TypeVar("T", bound=Struct)


class StreamedAnswer(Protocol):
    """Builds one answer from the events of a provider's stream."""

    usage: Usage
    model: str
    stop: StopReason | None  # None: the answer is not complete
    windows: tuple[ReportedWindow, ...]  # limits of the account

    @property
    def refused(self) -> bool:
        """Whether the model declined to answer."""
        ...

    @property
    def text(self) -> str:
        """The text so far."""
        ...

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        """The uses of tools so far."""
        ...

    def read_event(self, data: bytes) -> bool:
        """Read one event; return True when it is part of the answer, and not only a keep-alive."""
        ...


async def read_answer(
    request: ClaudeRequest, body: Body, answer: StreamedAnswer, secret: str
) -> ClaudeResponse:
    """Read the body within the timeouts of the request; raise ModelError with the text and usage so far."""
    try:
        async with enforce_timeouts(request) as extend_timeout, body as chunks:
            async for event in read_events(chunks):
                data = redact(secret, event)
                if request.on_line is not None:
                    request.on_line(data)
                if answer.read_event(data):
                    extend_timeout()
        return _evaluate_answer(answer, answer.uses if request.tools else ())
    except ModelError as error:
        error.partial, error.usage = answer.text, answer.usage
        error.windows = error.windows or answer.windows
        raise


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each server-sent event; comments, names and other lines are skipped."""
    stream = EventStream()
    async for chunk in chunks:
        for event in stream.read(chunk):
            yield event


def decode_part(kind: type[T], data: bytes | Raw) -> T:
    """Decode an event or a part of one; raise ModelError, because the answer would be incomplete."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ModelError(Code.STREAM_BROKEN, "a part of the answer could not be decoded") from None


def require_key(config: ClaudeClientConfig, name: str) -> str:
    """Return the key if it is valid in a header; raise ModelError that names the variable, not the key."""
    key = config.api_key.strip()
    if not key:
        raise ModelError(Code.AUTH_FAILED, f"no key for the model API: {name} is not set")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelError(Code.AUTH_FAILED, f"{name} has characters that are not valid in a key")
    return key


def _evaluate_answer(answer: StreamedAnswer, uses: tuple[ToolUse, ...]) -> ClaudeResponse:
    if answer.stop is None:
        raise ModelError(Code.STREAM_BROKEN, "the answer ended before it was complete")
    if answer.refused:
        raise ModelError(Code.REFUSED, "the model declined to answer")
    # After max_tokens the last use may be incomplete.
    uses = uses if answer.stop != "max_tokens" else ()
    if not answer.text.strip() and not uses:
        raise ModelError(Code.RESPONSE_EMPTY, "the model returned an empty answer")
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
        windows=answer.windows,
    )


class _Parts(Struct):
    id: str
    name: str
    arguments: list[str]


class ToolUseBuilder:
    """Builds the tool uses of an answer from its events; each use has a number."""

    def __init__(self) -> None:
        self._parts: dict[int, _Parts] = {}

    def __len__(self) -> int:
        return len(self._parts)

    def start(self, number: int, id: str, name: str) -> None:
        """Start a use; one that was started already is not changed."""
        self._parts.setdefault(number, _Parts(id or f"call_{number}", name, []))

    def add(self, number: int, text: str) -> None:
        """Add a part of the arguments; ignored for a use that was not started."""
        if number in self._parts:
            self._parts[number].arguments.append(text)

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        """The uses so far; without arguments they have an empty object."""
        parts = self._parts.values()
        return tuple(ToolUse(part.id, part.name, "".join(part.arguments).strip() or "{}") for part in parts)
