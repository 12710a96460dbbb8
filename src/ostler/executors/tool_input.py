"""What a tool was asked to do, in one line for a person."""

from __future__ import annotations

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


def summary_of(raw: Raw) -> str:
    """The command, the path or whatever else says most."""
    found = read(_DECODER, raw) or _ToolInput()
    members: list[str | None] = [getattr(found, name) for name in _ToolInput.__struct_fields__]
    return one_line(next(filter(None, members), ""))
