"""Every value of a tree of settings, with the way to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import fields

from ostler.config.source import Path


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each value that holds no other settings; an empty table or list is one."""
    inside = dict(_inside(value))
    if not inside:
        yield path, value
    for name, item in inside.items():
        yield from leaves(item, (*path, name))


def _inside(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, Struct):
        yield from ((field.encode_name, getattr(value, field.name)) for field in fields(value))
    elif isinstance(value, dict):
        yield from cast("dict[str, Any]", value).items()
    elif isinstance(value, (list, tuple)):
        rows = cast("list[Any]", value)
        yield from enumerate(rows if any(isinstance(row, Struct) for row in rows) else [])
