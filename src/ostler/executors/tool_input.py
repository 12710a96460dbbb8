"""What a tool was asked to do: in one line for a person, and as the object that the record keeps."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from ostler.executors.wire import one_line, read


class _ToolInput(Struct, frozen=True):
    """The members, under the names that the agents give them, that tell what is done; the best one first."""

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


_DECODER = Decoder(_ToolInput)
NOTHING = Raw(b"{}")


def summary_of(raw: Raw) -> str:
    """The command, the path or whatever else says most."""
    found = read(_DECODER, raw) or _ToolInput()
    members: list[str | None] = [getattr(found, name) for name in _ToolInput.__struct_fields__]
    return one_line(next(filter(None, members), ""))


def given(**members: object) -> Raw:
    """An object of what is known, for an agent that does not print one."""
    return Raw(msgspec.json.encode({name: member for name, member in members.items() if member}))


def object_of(raw: Raw) -> Raw:
    """The same, out of a line that was JSON, as an object on one line, without holding on to that line."""
    data = bytes(raw)
    if data.startswith(b"{") and b"\n" not in data:
        return Raw(data)
    return object_in(data.decode("utf-8", "replace")) if data not in (b"", b"null") else NOTHING


def object_in(text: str) -> Raw:
    """What a model wrote as JSON, as an object; what is none becomes its member `text`."""
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = text
    return Raw(msgspec.json.encode(value if isinstance(value, dict) else {"text": value}))
