"""The head of an HTTP/1 message, parsed strictly.

A message that two programs could read differently is refused: line ends other than CR LF, folded lines, white
space before a colon, repeated or contradictory lengths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

MAX_HEAD_BYTES = 64 << 10
_MAX_HEADERS = 200
HEAD_END = b"\r\n\r\n"

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*\Z")
_TARGET = re.compile(r"[\x21-\x7e]+\Z")
_LENGTH = re.compile(r"[0-9]{1,18}\Z")
_STRAY_LINE_END = re.compile(rb"(?<!\r)\n|\r(?!\n)|\0")
_VERSIONS = ("HTTP/1.0", "HTTP/1.1")
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)

Header = tuple[str, str]


class MessageInvalid(ValueError):
    """A message that is not plain HTTP/1; the text is a clause that names the reason."""


class Headers(Struct, frozen=True):
    """The headers of a message in their order, names as received."""

    items: tuple[Header, ...] = ()

    def get_all(self, name: str) -> list[str]:
        return [value for key, value in self.items if key.lower() == name]

    def get(self, name: str) -> str:
        return next(iter(self.get_all(name)), "")

    def without(self, names: Iterable[str]) -> Headers:
        left = frozenset(names)
        return Headers(tuple(item for item in self.items if item[0].lower() not in left))

    def end_to_end(self) -> Headers:
        """Return the headers that are not about this connection only."""
        listed = (name.strip().lower() for value in self.get_all("connection") for name in value.split(","))
        return self.without({*_HOP_BY_HOP, *listed})

    @property
    def closes(self) -> bool:
        listed = (name.strip().lower() for value in self.get_all("connection") for name in value.split(","))
        return "close" in listed


class Framing(Struct, frozen=True):
    """How the end of a body is found."""

    length: int | None = 0  # None: not known
    chunked: bool = False


class RequestHead(Struct, frozen=True):
    """A request without its body."""

    method: str
    target: str
    version: str
    headers: Headers
    framing: Framing

    def without_body(self) -> RequestHead:
        """Return the request after its body was read."""
        return replace(self, framing=Framing())

    @property
    def keeps_alive(self) -> bool:
        return self.version == "HTTP/1.1" and not self.headers.closes


class ResponseHead(Struct, frozen=True):
    """A response without its body."""

    status: int
    reason: str
    headers: Headers
    framing: Framing


def parse_request(data: bytes) -> RequestHead:
    """Return the head of a request, data up to the empty line; raise MessageInvalid."""
    start, headers = _parse_lines(data)
    parts = start.split(" ")
    if len(parts) != 3 or parts[2] not in _VERSIONS:
        raise MessageInvalid("its first line is not METHOD TARGET HTTP/1.1")
    method, target, version = parts
    if not _TOKEN.match(method.encode("latin-1")) or not _TARGET.match(target):
        raise MessageInvalid("its first line has characters that are not valid")
    if len(headers.get_all("host")) != 1 and (version == "HTTP/1.1" or headers.get_all("host")):
        raise MessageInvalid("it has no Host header, or several")
    framing = _find_framing(headers, Framing(0))
    if framing.chunked and version == "HTTP/1.0":
        raise MessageInvalid("HTTP/1.0 has no chunks")
    return RequestHead(method, target, version, headers, framing)


def parse_response(data: bytes, method: str) -> ResponseHead:
    """Return the head of the response to a request with this method; raise MessageInvalid."""
    start, headers = _parse_lines(data)
    version, _, rest = start.partition(" ")
    status, _, reason = rest.partition(" ")
    if version not in _VERSIONS or not re.match(r"[1-5][0-9]{2}\Z", status):
        raise MessageInvalid("its first line is not HTTP/1.1 STATUS REASON")
    framing = _find_framing(headers, Framing(None))
    if method == "HEAD" or status in ("204", "304") or status.startswith("1"):
        framing = Framing(0)
    return ResponseHead(int(status), reason, headers, framing)


def format_head(start: str, headers: Iterable[Header]) -> bytes:
    """Return a head with its empty line."""
    lines = [start, *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join(lines).encode("latin-1") + HEAD_END


def is_header_value(text: str) -> bool:
    """Whether a text can be the value of a header."""
    return text.isascii() and bool(_VALUE.match(text.encode()))


def _parse_lines(data: bytes) -> tuple[str, Headers]:
    if _STRAY_LINE_END.search(data):
        raise MessageInvalid("it has a line end that is not CR LF, or a NUL")
    start, *lines = data.removesuffix(HEAD_END).split(b"\r\n")
    if len(lines) > _MAX_HEADERS:
        raise MessageInvalid(f"it has more than {_MAX_HEADERS} headers")
    return start.decode("latin-1"), Headers(tuple(map(_parse_header, lines)))


def _parse_header(line: bytes) -> Header:
    name, colon, value = line.partition(b":")
    if not colon or not _TOKEN.match(name) or not _VALUE.match(value):
        raise MessageInvalid("a header is folded or has characters that are not valid")
    return name.decode("latin-1"), value.strip(b" \t").decode("latin-1")


def _find_framing(headers: Headers, default: Framing) -> Framing:
    lengths, encodings = headers.get_all("content-length"), headers.get_all("transfer-encoding")
    if len(lengths) + len(encodings) > 1:
        raise MessageInvalid("its length is given more than once")
    if encodings:
        if encodings[0].lower() != "chunked":
            raise MessageInvalid("its Transfer-Encoding is not chunked")
        return Framing(None, chunked=True)
    if lengths:
        if not _LENGTH.match(lengths[0]):
            raise MessageInvalid("its Content-Length is not a number")
        return Framing(int(lengths[0]))
    return default
