"""Counts the tokens of a model's answer while it passes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import assert_never

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import replace

from ostler.llm.event_stream import EventStream
from ostler.llm.usage import ChatUsage, GeminiUsage, MessagesUsage, ResponsesUsage
from ostler.model.usage import Usage
from ostler.sandbox.network.head import Headers
from ostler.sandbox.network.policy import Wire

_MAX_BUFFERED = 16 << 20  # of one event, or of an answer that is not a stream
_MAX_UNPACKED = 256 << 20
_BYTES_PER_TOKEN = 4
_EMPTY = Raw(b"null")
_MODEL = re.compile(rb'"model(?:Version)?"\s*:\s*"([^"\\]{1,200})"')
_PACKED = ("gzip", "x-gzip", "deflate")
_PLAIN = ("", "identity")


class _Inner(Struct, frozen=True):
    """The answer inside an event."""

    model: str | None = None
    version: str | None = field(name="modelVersion", default=None)
    usage: Raw = _EMPTY
    metadata: Raw = field(name="usageMetadata", default=_EMPTY)


class _Part(_Inner, frozen=True):
    """An event, or the whole answer."""

    message: _Inner | None = None
    response: _Inner | None = None


class TokenMeter:
    """Reads the body of one answer; the counts are those of the last event that has some.

    An answer that ends before its counts is estimated: a program must not avoid the budget by closing early,
    or by not asking for counts.
    """

    def __init__(self, wire: Wire, headers: Headers) -> None:
        self._wire: Wire = wire
        self._events = EventStream() if "event-stream" in headers.get("content-type") else None
        self._whole = bytearray()
        self._length = 0
        self._unpack = _Unpacker() if headers.get("content-encoding").lower() in _PACKED else None
        self._full = False
        self._number_of_events = 0
        self._is_final = False  # the counts of the whole answer were read
        self.model = ""
        self.usage = Usage()

    def read(self, piece: bytes) -> None:
        """Read a part of the body."""
        try:
            for plain in [piece] if self._unpack is None else self._unpack.read(piece):
                self._read_plain(plain)
        except zlib.error:
            self._full = True

    def finish(self, request_bytes: int) -> None:
        """Count an answer that is not a stream of events, and estimate one without counts."""
        if self._events is None:
            tokens = 0 if self._count_whole() else self._length // _BYTES_PER_TOKEN
        else:
            if not self._full:
                self._read_plain(b"\n")  # the last line may be without its end
            tokens = 0 if self._is_final else self._number_of_events
        if tokens:
            self.usage = _estimate(self.usage, request_bytes, tokens)

    def _count_whole(self) -> bool:
        """Count an answer that is no stream; return False if it is not complete."""
        data = bytes(self._whole)
        if not self._full and self._count(data):
            return True
        if found := _MODEL.search(data):
            self.model = found[1].decode("utf-8", "replace")
        return False

    def _read_plain(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._events is None:
            self._full = self._full or len(self._whole) + len(piece) > _MAX_BUFFERED
            self._whole += b"" if self._full else piece
        elif not self._full:
            for event in self._events.read(piece):
                self._number_of_events += 1
                self._count(event)
            self._full = len(self._events) > _MAX_BUFFERED

    def _count(self, data: bytes) -> bool:
        """Count one event or answer; return whether it is valid."""
        if self.model and b'"usage' not in data:
            return True
        try:
            # Gemini answers with a list of parts when the client does not ask for events.
            kind = list[_Part] if data.lstrip().startswith(b"[") else _Part
            found = msgspec.json.decode(data, type=kind)
            for part in [found] if isinstance(found, _Part) else found:
                self._count_part(part)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False  # the agent gets it as it is, and reports it
        return True

    def _count_part(self, part: _Part) -> None:
        # The first event of the Messages API has the counts of the prompt only.
        if part.message is not None:
            self._count_inner(part.message)
        for inner in (part, part.response):
            if inner is not None and self._count_inner(inner):
                self._is_final = True

    def _count_inner(self, inner: _Inner) -> bool:
        self.model = inner.model or inner.version or self.model
        raw = inner.metadata if self._wire == "gemini" else inner.usage
        if bytes(raw) == bytes(_EMPTY):
            return False
        self.usage = _read_usage(self._wire, raw, self.usage)
        return True


class ByteCount:
    """The bytes of a body that passed."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, piece: bytes) -> None:
        self.total += len(piece)


class _Unpacker:
    """Unpacks gzip and deflate in pieces of a limited size."""

    def __init__(self) -> None:
        self._unpack = zlib.decompressobj(47)  # finds out whether it is gzip or zlib
        self._left = _MAX_UNPACKED

    def read(self, piece: bytes) -> Iterator[bytes]:
        while piece and self._left > 0:
            plain = self._unpack.decompress(piece, 1 << 20)
            piece = self._unpack.unconsumed_tail
            self._left -= len(plain)
            yield plain


def can_count(headers: Headers) -> bool:
    """Whether the encoding of an answer can be read."""
    return headers.get("content-encoding").lower() in (*_PLAIN, *_PACKED)


def _estimate(known: Usage, request_bytes: int, number_of_events: int) -> Usage:
    """Return at least one token per event, and one per four bytes of a prompt that was not counted."""
    is_prompt_known = known.input_tokens or known.cache_read_tokens or known.cache_write_tokens
    return replace(
        known,
        input_tokens=known.input_tokens if is_prompt_known else request_bytes // _BYTES_PER_TOKEN,
        output_tokens=max(known.output_tokens, number_of_events),
    )


def _read_usage(wire: Wire, raw: Raw, old: Usage) -> Usage:
    match wire:
        case "anthropic":
            return msgspec.json.decode(raw, type=MessagesUsage).update(old)
        case "openai":
            kind = ChatUsage if b'"prompt_tokens"' in bytes(raw) else ResponsesUsage
            return msgspec.json.decode(raw, type=kind).count()
        case "gemini":
            return msgspec.json.decode(raw, type=GeminiUsage).count()
        case "":
            return old
        case _:
            assert_never(wire)
