"""Foreign JSON, read once fast and, when that fails, once more with patience."""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import fields

T = TypeVar("T", bound=Struct)

_BEFORE = b"\xef\xbb\xbf \t\r"
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read(decoder: msgspec.json.Decoder[T], line: bytes | Raw) -> T | None:
    """The line as a value; a field of an unexpected type is left at its default. None: not a JSON object."""
    try:
        return decoder.decode(line)
    except _REFUSED:
        return _read_patiently(decoder.type, bytes(line))


def _read_patiently(kind: type[T], line: bytes) -> T | None:
    """msgspec refuses lone surrogates, bad UTF-8 and unexpected types; json and a second look accept them."""
    if not line.lstrip(_BEFORE).startswith(b"{"):
        return None
    try:
        text = line.decode("utf-8-sig", "replace")
        loaded: object = json.loads(text, strict=False, parse_constant=lambda _: None)
        clean = json.dumps(loaded, ensure_ascii=False).encode("utf-8", "replace")
        members = msgspec.json.decode(clean, type=dict[str, object])
    except (ValueError, RecursionError):
        return None
    return kind(**_what_fits(kind, members))


def _what_fits(kind: type[Struct], members: dict[str, object]) -> dict[str, object]:
    fitting: dict[str, object] = {}
    for field in fields(kind):
        if field.encode_name in members:
            try:
                fitting[field.name] = _convert(members[field.encode_name], field.type)
            except msgspec.ValidationError:
                continue  # the default stands for what we cannot read
    return fitting


def _convert(value: object, kind: object) -> object:
    return Raw(msgspec.json.encode(value)) if kind is Raw else msgspec.convert(value, kind)


def one_line(text: str, longest: int = 200) -> str:
    """The first line of a text, cut to a length that fits a list."""
    line = text.strip().partition("\n")[0].rstrip()
    return line if len(line) <= longest else line[: longest - 1] + "…"
