"""The encodings in which a registered secret is found, and text without line breaks."""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_right
from itertools import accumulate, pairwise
from urllib.parse import quote, quote_plus

_SPACE = b" \t\r\n"
_UNICODE_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")
# Each run of backslashes is read once: from its first one, which the search finds fastest as a literal.
_ESCAPE = re.compile(rb"\\(?<!\\\\)\\*+[nrt]")
_SHELL_SIGN = re.compile(r"[^\w\s%+,./:@^=-]")
_BLOCK_BYTES = 64 * 1024
_BORDER = re.compile(rb"[^ \t\r\n\\]")  # no escape continues after it


def encode_all(secret: bytes) -> frozenset[bytes]:
    """Return the secret as it is, reversed, in hex, base64, UTF-16 and URL encoding, escaped and quoted."""
    text = secret.decode("utf-8", "surrogateescape")
    urls = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    urls.add("".join(f"%{byte:02X}" for byte in secret))
    urls |= {re.sub("%..", lambda found: found[0].lower(), url) for url in urls}
    mirrored = {secret[::-1], text[::-1].encode("utf-8", "surrogateescape")}
    found = {secret, *mirrored, secret.hex().encode(), secret.hex().upper().encode()}
    found |= {url.encode() for url in urls} | _encode_base64(secret)
    found |= {text.encode(name, "surrogatepass") for name in ("utf-16-le", "utf-16-be")}
    escaped = _escape(text) | _escape_for_pages(text) | _quote(text)
    escaped |= {twice for once in escaped for twice in _escape(once)}
    return frozenset(found | {one.encode("utf-8", "surrogateescape") for one in escaped})


def squeeze(data: bytes) -> bytes:
    """Return the text without spaces, line breaks and their JSON escapes, so that a split secret is whole."""
    dense = data.translate(None, _SPACE)
    return _ESCAPE.sub(b"", dense) if b"\\" in dense else dense


def map_squeezed(data: bytes) -> list[int]:
    """Return the offset of each byte of the squeezed text."""
    kept = [offset for offset, byte in enumerate(data) if byte not in _SPACE]
    offsets: list[int] = []
    start = 0
    for escape in _ESCAPE.finditer(data.translate(None, _SPACE)):
        offsets += kept[start : escape.start()]
        start = escape.end()
    return offsets + kept[start:]


class SqueezedOffsets:
    """The offset of each byte of the squeezed text, for a few bytes of a long text.

    A block is mapped when a byte of it is asked for: a list of all offsets needs 40 times the memory.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._borders = _split_blocks(data)
        sizes = (len(squeeze(data[start:end])) for start, end in pairwise(self._borders))
        self._firsts = [0, *accumulate(sizes)]
        self._block = -1
        self._offsets: list[int] = []

    def __getitem__(self, at: int) -> int:
        block = bisect_right(self._firsts, at) - 1
        start, end = self._borders[block : block + 2]
        if block != self._block:
            self._block, self._offsets = block, map_squeezed(self._data[start:end])
        return start + self._offsets[at - self._firsts[block]]


def _split_blocks(data: bytes) -> list[int]:
    """Return the borders of blocks that are squeezed one by one with the same result."""
    borders = [0]
    while found := _BORDER.search(data, borders[-1] + _BLOCK_BYTES):
        borders.append(found.end())
    return [*borders, len(data)]


def _escape(text: str) -> set[str]:
    plain = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    return plain | {one.replace("/", "\\/") for one in plain}


def _escape_for_pages(text: str) -> set[str]:
    """Return the text escaped for HTML, and as JSON in which the letters of HTML are escaped, as Go does."""
    # Its table of entities is large, and only a registered secret needs it.
    import html  # noqa: PLC0415

    pages = {html.escape(text, quote=False), html.escape(text), html.escape(text).replace("&#x27;", "&#39;")}
    pages |= {one.replace("&quot;", "&#34;") for one in pages}
    for letters in ("&<>", "&<>'"):
        numbers = {ord(letter): f"\\u{ord(letter):04x}" for letter in letters}
        pages |= {one.translate(numbers) for one in _escape(text)}
    return pages | {_UNICODE_ESCAPE.sub(lambda found: "\\u" + found[1].upper(), one) for one in pages}


def _quote(text: str) -> set[str]:
    """Return the text inside of quotation marks of a shell and of YAML, and with a backslash before signs."""
    quoted = {text.replace("'", mark) for mark in ("'\\''", "'\"'\"'", "''")}
    return quoted | {_SHELL_SIGN.sub(r"\\\g<0>", text)}


def _encode_base64(secret: bytes) -> set[bytes]:
    """Return the secret in base64 at each of the three offsets, without bits of its neighbours."""
    found: set[bytes] = set()
    for offset in range(3):
        whole = base64.b64encode(b"\0" * offset + secret + b"\0" * ((-offset - len(secret)) % 3))
        own = -(-offset * 8 // 6), (offset + len(secret)) * 8 // 6
        found |= {whole[slice(*own)], whole[slice(*own)].translate(bytes.maketrans(b"+/", b"-_"))}
    return found
