"""The source of a setting and the format of its key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import fields

from ostler.config.literal import quote

Layer = Literal["default", "user file", "project file", "environment", "flag"]
KeyPath = tuple[str | int, ...]
"""The path to a value: names of tables and keys, and indexes in lists of tables."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Source(Struct, frozen=True):
    """Where one value came from."""

    layer: Layer
    name: str = ""  # the file, the variable or the flag
    line: int = 0  # line in the file; 0: the whole file

    @property
    def location(self) -> str:
        """Return the location: ostler.toml:12, OSTLER_RUN__JOBS, --jobs, default."""
        return f"{self.name}:{self.line}" if self.line else self.name or self.layer


DEFAULT = Source("default")


def format_key(path: KeyPath) -> str:
    """Return the key in TOML notation: run.jobs, executors."my agent".command, models[0].name."""
    return "".join(_step(part) for part in path).removeprefix(".")


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if _BARE.fullmatch(part) else f".{quote(part)}"


def list_values(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield each value that contains no further settings; an empty table or list counts as one."""
    inside = dict(_inside(value))
    if not inside:
        yield path, value
    for name, item in inside.items():
        yield from list_values(item, (*path, name))


def _inside(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, Struct):
        yield from ((field.encode_name, getattr(value, field.name)) for field in fields(value))
    elif isinstance(value, dict):
        yield from cast("dict[str, Any]", value).items()
    elif isinstance(value, (list, tuple)):
        rows = cast("list[Any]", value)
        yield from enumerate(rows if any(isinstance(row, Struct) for row in rows) else [])
