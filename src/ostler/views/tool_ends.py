"""When the tools of a task's attempts returned: their stories know it, the feed does not."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.views.log import pages
from ostler.views.story import story_path

_MOST_BYTES = 16 * 1024 * 1024  # a longer story is not read through for this


class ToolEnd(Struct, frozen=True):
    at: float  # seconds since the epoch
    failed: bool = False


ToolEnds = dict[int, list[ToolEnd | None]]
"""By the number of the attempt, one for each use of a tool, in order; None: nobody knows."""


class _Line(Struct, frozen=True):
    type: str = ""
    at: float = 0.0
    id: str = ""
    failed: bool = False


_DECODE = msgspec.json.Decoder(_Line).decode


def tool_ends(task_dir: Path) -> ToolEnds:
    """The ends of all tools of a task, as far as its stories are there and not too long."""
    return {page.number: _ends(story_path(page)) for page in pages(task_dir)}


def _ends(story: Path) -> list[ToolEnd | None]:
    try:
        if story.stat().st_size > _MOST_BYTES:
            return []
        lines = story.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    ends: list[ToolEnd | None] = []
    open_uses: dict[str, int] = {}
    for line in filter(None, map(_read, lines)):
        if line.type == "tool_used":
            open_uses[line.id] = len(ends)
            ends.append(None)
        elif line.type == "tool_returned" and line.id in open_uses:
            ends[open_uses.pop(line.id)] = ToolEnd(line.at, line.failed)
    return ends


def _read(line: bytes) -> _Line | None:
    try:
        return _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
