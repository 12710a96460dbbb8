"""Replaces secrets by [redacted:KIND] in bytes, text and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict, replace

if TYPE_CHECKING:
    from ostler.secrets.find import Found

_S = TypeVar("_S", bound=Struct)
_T = TypeVar("_T")


RedactTexts = Callable[[Sequence[bytes]], Sequence[bytes]]
"""Redacts texts that follow each other, as RedactingSequence.redact does."""

_encode = msgspec.json.Encoder().encode
_MARK = re.compile(rb"\[redacted:[A-Za-z0-9_.-]+\]")


def is_redacted(data: bytes) -> bool:
    """Return whether a secret was replaced in the text."""
    return _MARK.search(data) is not None


def redact_bytes(data: bytes) -> bytes:
    """Return the text without secrets; JSON stays valid JSON."""
    from ostler.secrets.find import find_secrets  # noqa: PLC0415  (a list of tasks redacts nothing)

    found = find_secrets(data)
    return replace_found(data, found) if found else data


def redact_lines(data: bytes, margin: int = 0) -> bytes:
    """Return the text without secrets, with as many lines as before.

    The first `margin` characters of each line are kept: 1 for a patch, whose lines begin with a sign.
    """
    from ostler.secrets.find import find_secrets  # noqa: PLC0415  (a list of tasks redacts nothing)

    found = find_secrets(data)
    return replace_found(data, _split_by_line(data, found, margin)) if found else data


def _split_by_line(data: bytes, found: Iterable[Found], margin: int) -> Iterator[Found]:
    """Yield each secret; one of several lines as a part for each of them."""
    for one in found:
        start = one.start
        while (line_end := data.find(b"\n", start, one.end)) >= 0:
            if line_end > start:
                yield one._replace(start=start, end=line_end)
            start = min(line_end + 1 + margin, one.end)
        if start < one.end:
            yield one._replace(start=start)


def redact_text(text: str) -> str:
    """Return the text without secrets."""
    data = text.encode("utf-8", "surrogatepass")
    clean = redact_bytes(data)
    return text if clean is data else clean.decode("utf-8", "surrogatepass")


def redact_struct(value: _S) -> _S:
    """Return the value without secrets in its texts; the same object if it has none."""
    try:
        data = _encode(value)
    except UnicodeEncodeError:  # half a surrogate pair, as in the output of a program
        return replace(value, **{name: _redact_field(field) for name, field in asdict(value).items()})
    clean = redact_bytes(data)
    return value if clean is data else msgspec.json.decode(clean, type=type(value))


def redact_structs(values: Sequence[_S], redact: RedactTexts) -> list[tuple[_S, bytes]]:
    """Return each value without secrets in its texts, and its JSON; the same object if it has none."""
    try:
        encoded = [*map(_encode, values)]
    except UnicodeEncodeError:  # half a surrogate pair
        values = [redact_struct(value) for value in values]
        encoded = [*map(to_json, values)]
    return [
        (value, data) if clean is data else (msgspec.json.decode(clean, type=type(value)), clean)
        for value, data, clean in zip(values, encoded, redact(encoded), strict=True)
    ]


def to_json(value: Struct) -> bytes:
    """Return a value as JSON; half a surrogate pair in one of its texts is replaced."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        texts = {name: text for name, text in asdict(value).items() if isinstance(text, str)}
        valid = {name: text.encode("utf-8", "replace").decode() for name, text in texts.items()}
        return _encode(replace(value, **valid))


def redact_value(value: _T) -> _T:
    """Return a value of JSON without secrets in its texts."""
    match value:
        case str():
            return cast("_T", redact_text(value))
        case dict():
            table = cast("dict[str, Any]", value)
            return cast("_T", {name: redact_value(item) for name, item in table.items()})
        case list() | tuple():
            return cast("_T", [redact_value(item) for item in cast("list[Any]", value)])
        case _:
            return value


def _redact_field(field: Any) -> Any:
    match field:
        case Struct():
            return redact_struct(field)
        case Raw():
            return Raw(redact_bytes(bytes(field)))
        case tuple():
            return tuple(_redact_field(one) for one in cast("tuple[Any, ...]", field))
        case _:
            return redact_value(field)


def replace_found(data: bytes, found: Iterable[Found], start: int = 0, end: int | None = None) -> bytes:
    """Return a part of the text with a mark for each secret in it."""
    parts: list[bytes] = []
    for one in found:
        parts += (data[start : one.start], b"[redacted:%b]" % one.kind.encode())
        start = one.end
    return b"".join((*parts, data[start:end]))
