"""When the tools of a task's attempts returned; the attempt logs record it, the feed does not."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.views.agent_work.attempt_log import log_path
from ostler.views.agent_work.transcript import list_transcripts

_MOST_BYTES = 16 * 1024 * 1024  # longer logs are not read


class ToolEnd(Struct, frozen=True):
    at: float  # seconds since the epoch
    failed: bool = False


ToolEnds = dict[int, list[ToolEnd | None]]
"""By attempt number: one end per tool call, in order; None: unknown."""


class _Line(Struct, frozen=True):
    type: str = ""
    at: float = 0.0
    id: str = ""
    failed: bool = False


_DECODE = msgspec.json.Decoder(_Line).decode


def tool_ends(task_dir: Path) -> ToolEnds:
    """Return the ends of all tools of a task, as far as its logs exist and are not too long."""
    return {page.number: _ends(log_path(page)) for page in list_transcripts(task_dir)}


def _ends(log: Path) -> list[ToolEnd | None]:
    try:
        if log.stat().st_size > _MOST_BYTES:
            return []
        lines = log.read_bytes().split(b"\n")
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
