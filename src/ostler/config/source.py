"""Where a setting came from, and what its key is called."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from ostler.config.literal import quote

Layer = Literal["default", "user file", "project file", "environment", "flag"]
Path = tuple[str | int, ...]
"""The way to a value: names of tables and keys, and positions in lists of tables."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Source(Struct, frozen=True):
    """Where one value came from."""

    layer: Layer
    name: str = ""  # the file, the variable or the flag
    line: int = 0  # in the file; 0: the file as a whole

    @property
    def place(self) -> str:
        """As a person looks it up: ostler.toml:12, OSTLER_RUN__JOBS, --jobs, default."""
        return f"{self.name}:{self.line}" if self.line else self.name or self.layer


DEFAULT = Source("default")


def dotted(path: Path) -> str:
    """The key as TOML writes it: run.jobs, executors."my agent".command, models[0].name."""
    return "".join(_step(part) for part in path).removeprefix(".")


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if _BARE.fullmatch(part) else f".{quote(part)}"
