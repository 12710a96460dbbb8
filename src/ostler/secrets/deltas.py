"""Redacts secrets that are split between the texts of consecutive lines of JSON, as agents stream them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, TypeAlias, cast

import msgspec

from ostler.secrets.stream import RedactingStream

Path: TypeAlias = tuple[str | int, ...]

_WORDS = (b"delta", b"_chunk")
_TEXTS = frozenset(
    ("text", "content", "thinking", "partial_json", "arguments", "reasoning", "reasoning_content")
)
# Sent while a text is written; it is not the end of the text.
_BETWEEN = re.compile(rb'"(?:type|sessionUpdate)": ?"(?:ping|usage_update|session_info_update)"')
_LONGEST_STATUS = 1024
_LONGEST_LINE = 64 * 1024  # a longer one is no part of a text


class _Line:
    """A line with a part of a text."""

    def __init__(self, raw: bytes, value: Any, path: Path, size: int) -> None:
        self.raw, self.value, self.path = raw, value, path
        self.size = size  # bytes of its text that are held back
        self.text = b""
        self.is_changed = False

    def encode(self) -> bytes:
        if not self.is_changed:
            return self.raw
        place = self.value
        for key in self.path[:-1]:
            place = place[key]
        place[self.path[-1]] = self.text.decode("utf-8", "replace")
        return msgspec.json.encode(self.value) + b"\n"


class DeltaRedactor:
    """Passes lines on; one with a part of a text waits while its end may be the beginning of a secret.

    A secret in the joined text is replaced in the first of its lines, and removed from the others. All other
    lines stay as they are. A line of another kind ends the text, except for those about the session.
    """

    def __init__(self) -> None:
        self._rest = b""  # a line that is not complete
        self._is_long = False  # the rest of this line is passed on as it is
        self._lines: deque[_Line] = deque()
        self._held = b""  # the end of the text that was not redacted yet
        self._stream = RedactingStream()

    def feed(self, chunk: bytes) -> bytes:
        """Return the lines that can be written now."""
        data = self._rest + chunk
        if self._is_long:
            first, newline, data = data.partition(b"\n")
            self._is_long = not newline
            return first + newline + (self._read(data) if newline else b"")
        return self._read(data)

    def finish(self) -> bytes:
        """Return what was held back."""
        rest, self._rest = self._rest, b""
        return self._end_text() + rest

    def _read(self, data: bytes) -> bytes:
        end = data.rfind(b"\n") + 1
        whole, self._rest = data[:end], data[end:]
        if not self._lines and not any(word in whole for word in _WORDS):
            written = whole
        else:
            written = b"".join(map(self._read_line, whole.splitlines(keepends=True)))
        if self._rest and (not self._rest.startswith(b"{") or len(self._rest) > _LONGEST_LINE):
            written += self._end_text() + self._rest
            self._rest, self._is_long = b"", True
        return written

    def _read_line(self, raw: bytes) -> bytes:
        found = _find_text(raw)
        if found is None and self._lines and _BETWEEN.search(raw[:_LONGEST_STATUS]):
            self._lines.append(_Line(raw, None, self._lines[-1].path, 0))
            return b""
        if found is None:
            return self._end_text() + raw
        value, path, text = found
        is_other = bool(self._lines) and self._lines[-1].path != path
        return (self._end_text() if is_other else b"") + self._add(_Line(raw, value, path, len(text)), text)

    def _add(self, line: _Line, text: bytes) -> bytes:
        self._lines.append(line)
        clean, raw = self._stream.feed(text), self._held + text
        size = len(raw) - self._stream.held
        self._held = raw[size:]
        return self._release(raw[:size], clean)

    def _end_text(self) -> bytes:
        if not self._lines:
            return b""
        raw, clean = self._held, self._stream.finish()
        self._held, self._stream = b"", RedactingStream()
        return self._release(raw, clean)

    def _release(self, raw: bytes, clean: bytes) -> bytes:
        """Give the redacted text to the lines that it is from; return those that are complete."""
        is_same = raw == clean
        if not is_same:
            self._lines[0].text += clean
        for line in self._lines:
            size = min(line.size, len(raw))
            own, raw = raw[:size], raw[size:]
            line.size -= size
            line.text += own if is_same else b""
            line.is_changed = line.is_changed or (not is_same and size > 0)
        return b"".join(self._take_complete())

    def _take_complete(self) -> Iterator[bytes]:
        while self._lines and not self._lines[0].size:
            yield self._lines.popleft().encode()


def _find_text(raw: bytes) -> tuple[Any, Path, bytes] | None:
    """Return the value of a line, and the place and the bytes of the part of a text in it."""
    if not raw.startswith(b"{") or not any(word in raw for word in _WORDS):
        return None
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    found = [*_list_texts(value, (), is_part=False)]
    if len(found) != 1:
        return None
    path, text = found[0]
    return value, path, text.encode("utf-8", "surrogatepass")


def _list_texts(value: Any, path: Path, is_part: bool) -> Iterator[tuple[Path, str]]:
    if isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _list_texts(item, (*path, index), is_part)
    if not isinstance(value, dict):
        return
    table = cast("dict[str, Any]", value)
    is_part = is_part or table.get("delta") is True or str(table.get("sessionUpdate", "")).endswith("_chunk")
    for key, item in table.items():
        if isinstance(item, str) and (key in ("delta", "deltaContent") or (is_part and key in _TEXTS)):
            yield (*path, key), item
        yield from _list_texts(item, (*path, key), is_part or key == "delta")
