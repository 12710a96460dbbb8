"""Reads the JSON that agents print, and the input of their tools."""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct, field
from msgspec.json import Decoder
from msgspec.structs import fields

from ostler.text import first_line

T = TypeVar("T", bound=Struct)

_IGNORED_PREFIX = b"\xef\xbb\xbf \t\r"
_INVALID = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decode_json(decoder: msgspec.json.Decoder[T], line: bytes | Raw) -> T | None:
    """Decode a line, or return None when it is not a JSON object.

    A field with a value of an unexpected type keeps its default.
    """
    try:
        return decoder.decode(line)
    except _INVALID:
        return _decode_tolerantly(decoder.type, bytes(line))


def _decode_tolerantly(kind: type[T], line: bytes) -> T | None:
    # msgspec rejects lone surrogates, invalid UTF-8 and unexpected types; agents print all of them.
    if not line.lstrip(_IGNORED_PREFIX).startswith(b"{"):
        return None
    try:
        text = line.decode("utf-8-sig", "replace")
        loaded: object = json.loads(text, strict=False, parse_constant=lambda _: None)
        clean = json.dumps(loaded, ensure_ascii=False).encode("utf-8", "replace")
        members = msgspec.json.decode(clean, type=dict[str, object])
    except (ValueError, RecursionError):
        return None
    return kind(**_convert_members(kind, members))


def _convert_members(kind: type[Struct], members: dict[str, object]) -> dict[str, object]:
    converted: dict[str, object] = {}
    for info in fields(kind):
        if info.encode_name in members:
            try:
                converted[info.name] = _convert(members[info.encode_name], info.type)
            except msgspec.ValidationError:
                continue
    return converted


def _convert(value: object, kind: object) -> object:
    return Raw(msgspec.json.encode(value)) if kind is Raw else msgspec.convert(value, kind)


class _ToolInput(Struct, frozen=True):
    """The members that best describe a use of a tool, in this order, as the agents name them."""

    command: str | None = None
    cmd: str | None = None
    file_path: str | None = None
    camel_path: str | None = field(default=None, name="filePath")
    path: str | None = None
    notebook_path: str | None = None
    pattern: str | None = None
    url: str | None = None
    query: str | None = None
    description: str | None = None


_TOOL_INPUT = Decoder(_ToolInput)
EMPTY_OBJECT = Raw(b"{}")


def summarize_input(raw: Raw) -> str:
    """Return the command, the pattern, the path or the next best member of a tool's input, in one line."""
    found = decode_json(_TOOL_INPUT, raw) or _ToolInput()
    if found.pattern and not (found.command or found.cmd or found.file_path):
        place = f" in {found.path}" if found.path and found.path != "." else ""
        return first_line(found.pattern + place)
    members: list[str | None] = [getattr(found, name) for name in _ToolInput.__struct_fields__]
    return first_line(next(filter(None, members), ""))


def build_input(**members: object) -> Raw:
    """Return a JSON object of the members that are not empty, for an agent that does not print the input."""
    return Raw(msgspec.json.encode({name: member for name, member in members.items() if member}))


def to_object(raw: Raw) -> Raw:
    """Return a part of a JSON line as an object on one line; the copy does not keep the line in memory."""
    data = bytes(raw)
    if data.startswith(b"{") and b"\n" not in data:
        return Raw(data)
    return parse_object(data.decode("utf-8", "replace")) if data not in (b"", b"null") else EMPTY_OBJECT


def parse_object(text: str) -> Raw:
    """Return JSON that a model wrote as an object; anything else becomes the member `text` of one."""
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = text
    return Raw(msgspec.json.encode(value if isinstance(value, dict) else {"text": value}))
