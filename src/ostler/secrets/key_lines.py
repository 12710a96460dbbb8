"""The lines of a private key that have something before them: line numbers, quotation marks, colours."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ostler.secrets.private_key import KEY_WORD, key_header

MAX_LINES = 100
MAX_BYTES = 32 * 1024
BASE64_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=%\\"
"""All that can be part of the base64 text of a key in JSON or in a URL."""
_END = b"-----END"
# The letters of an escape before the text are not part of it.
_BASE64 = (
    rb"(?:(?<=\\)(?:[bfnrt]|u[0-9a-fA-F]{4})|(?<=%)[0-9A-Fa-f]{2})?+"
    rb"(?P<text>(?:[A-Za-z0-9+/=]|(?<!\\)\\++/|%(?:2[BbFf]|3[Dd])){40,}+)"
)
_HASH = re.compile(rb"[0-9a-f]*+|[0-9A-F]*+")


class OpenKey(NamedTuple):
    """What is left of the text after the first line of a private key in which its lines are searched."""

    lines: int = MAX_LINES
    size: int = MAX_BYTES


class KeyLines(NamedTuple):
    """The places of the lines, and the key that is open at the end of the text."""

    spans: list[tuple[int, int]]
    opened: OpenKey | None


def find_key_lines(data: bytes, start: int, end: int, opened: OpenKey | None = None) -> KeyLines:
    """Return every long base64 text after the first line of a private key, up to its last line."""
    spans: list[tuple[int, int]] = []
    while start < end:
        if opened is None:
            header = key_header().search(data, start, end) if data.find(KEY_WORD, start, end) >= 0 else None
            if header is None:
                break
            start, opened = header.end(), OpenKey()
        stop, opened = _find_stop(data, start, end, opened)
        spans += _find_base64(data, start, stop)
        start = stop
        if opened is not None:
            break
    return KeyLines(spans, opened)


def _find_stop(data: bytes, start: int, end: int, opened: OpenKey) -> tuple[int, OpenKey | None]:
    """Return where the lines end, and what is left if the text ends before."""
    stop, lines = min(end, start + opened.size), opened.lines
    for mark in (KEY_WORD, _END):
        at = data.find(mark, start, stop)
        stop = at if at >= 0 else stop
    at = data.find(b"\n", start, stop)
    while at >= 0 and lines > 0:
        lines -= 1
        at = data.find(b"\n", at + 1, stop) if lines else at
    if lines == 0:
        return at, None
    size = opened.size - (end - start)
    return stop, OpenKey(lines, size) if stop == end and size > 0 else None


def _find_base64(data: bytes, start: int, end: int) -> list[tuple[int, int]]:
    found = _long_base64().finditer(data, start, end)
    return [match.span("text") for match in found if not _is_plain(match["text"])]


def _is_plain(text: bytes) -> bool:
    """Return whether a text is a hash or a word; of random base64 texts, one in thousands is."""
    return text.isalpha() or not (text.upper() != text != text.lower()) or _HASH.fullmatch(text) is not None


@cache
def _long_base64() -> re.Pattern[bytes]:
    return re.compile(_BASE64)
