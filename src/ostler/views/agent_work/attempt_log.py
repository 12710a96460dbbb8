"""Read the log of an attempt in pages by byte offset (ostler.attempt-log/1)."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from ostler.views.agent_work.edits import find_edits
from ostler.views.agent_work.tool_verb import find_verb
from ostler.views.agent_work.transcript import Transcript

SCHEMA = "ostler.attempt-log/1"
TAIL = -1  # the offset of the end
MAX_ENTRIES = 200
PAGE_BYTES = 1024 * 1024  # size of a page; only a single long entry exceeds it

LOG_SUFFIX = ".log.ndjson"
_OLD_LOG_SUFFIX = ".story.ndjson"  # of logs that older versions wrote
_MAX_LINE_BYTES = 8 * PAGE_BYTES  # a longer line is not an entry

LogEntry = dict[str, Any]
"""One entry as JSON, with its `offset` in the file; a tool has its `verb`, and its `edits` of files."""


# Types of entries in logs that older versions wrote.
_RENAMED_TYPES = {
    "text_said": "text_received",
    "line_unread": "line_skipped",
    "retry_seen": "retry_reported",
    "usage_seen": "usage_reported",
    "warned": "warning_raised",
}

_DECODE = msgspec.json.Decoder(dict[str, Any]).decode


class AttemptLogPage(Struct, frozen=True):
    size: int  # of the file, in bytes
    start: int  # the offset of the first entry
    next: int  # the offset of the next page
    entries: tuple[LogEntry, ...] = ()
    schema: str = SCHEMA


def log_path(page: Transcript) -> Path:
    """Return the path of the log of an attempt, whether or not it exists."""
    path = page.path.with_name(f"{page.name}{LOG_SUFFIX}")
    old = _old_path(path)
    return old if old.exists() and not path.exists() else path


def _old_path(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(LOG_SUFFIX) + _OLD_LOG_SUFFIX)


def read_log(path: Path, offset: int = 0, limit: int = MAX_ENTRIES) -> AttemptLogPage:
    """Return at most `limit` entries from an offset, or the last ones (TAIL).

    An offset within a line is moved to the next line. An incomplete last line is left for a later call.
    An attempt of an older version has one entry: the end of its transcript.
    """
    for name in (path, _old_path(path)):
        with suppress(FileNotFoundError), name.open("rb") as file:
            return _read(file, offset, max(1, limit))
    return _read_transcript(path, offset)


def _read(file: BinaryIO, offset: int, limit: int) -> AttemptLogPage:
    size = os.fstat(file.fileno()).st_size
    tail = offset < 0
    start = _find_line_start(file, max(0, size - PAGE_BYTES) if tail else min(offset, size))
    lines = _read_complete_lines(file, start)
    if tail:
        start += sum(map(len, lines[:-limit]))
        lines = lines[-limit:]
    entries, after = _decode_lines(lines[:limit], start)
    return AttemptLogPage(size, start, after, entries)


def _find_line_start(file: BinaryIO, offset: int) -> int:
    """Return the start of the first line at or after the offset, or that of the incomplete last line."""
    if offset == 0:
        return 0
    file.seek(offset - 1)
    while piece := file.readline(PAGE_BYTES):
        if piece.endswith(b"\n"):
            return file.tell()
    before = max(0, offset - _MAX_LINE_BYTES)
    file.seek(before)
    return before + file.read(offset - before).rfind(b"\n") + 1


def _read_complete_lines(file: BinaryIO, start: int) -> list[bytes]:
    file.seek(start)
    data = file.read(PAGE_BYTES)
    if b"\n" not in data:
        data += file.readline(_MAX_LINE_BYTES)
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


def _decode_lines(lines: list[bytes], start: int) -> tuple[tuple[LogEntry, ...], int]:
    entries: list[LogEntry] = []
    offset, at = start, 0.0
    for line in lines:
        if found := _decode_entry(line):
            at = found.setdefault("at", at)
            entries.append({"offset": offset, **found, **_describe_tool(found)})
        offset += len(line)
    return tuple(entries), offset


def _describe_tool(entry: LogEntry) -> LogEntry:
    """Return the verb of a tool call and its file edits, for rendering."""
    if entry["type"] != "tool_used":
        return {}
    edits, verb = find_edits(entry.get("input")), find_verb(str(entry.get("tool", "")))
    return {"verb": verb, "edits": edits} if edits else {"verb": verb}


def _decode_entry(line: bytes) -> LogEntry | None:
    """Decode one line; None for anything else, such as half a line after a cut."""
    try:
        found = _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = _decode_leniently(line)
    if found is not None and found.get("type") == "ostler_cut":
        return {"type": "warning_raised", "message": f"{found['bytes']} bytes of this log were not kept"}
    if found is None or "type" not in found:
        return None
    return found | {"type": _RENAMED_TYPES.get(found["type"], found["type"])}


def _decode_leniently(line: bytes) -> LogEntry | None:
    """Decode a line that msgspec rejects, such as one with lone surrogates in a tool's input."""
    try:
        found = json.loads(line.decode("utf-8", "replace"), strict=False)
        clean = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
        return _DECODE(clean)
    except (ValueError, RecursionError):
        return None


def _read_transcript(path: Path, offset: int) -> AttemptLogPage:
    page = path.with_name(path.name.removesuffix(LOG_SUFFIX).removesuffix(_OLD_LOG_SUFFIX) + ".md")
    try:
        with page.open("rb") as file:
            stat = os.fstat(file.fileno())
            file.seek(max(0, stat.st_size - PAGE_BYTES))
            text = file.read(PAGE_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return AttemptLogPage(0, 0, 0)
    if offset > 0 or not text:
        return AttemptLogPage(stat.st_size, stat.st_size, stat.st_size)
    entry: LogEntry = {"offset": 0, "at": stat.st_mtime, "type": "text_received", "text": text}
    return AttemptLogPage(stat.st_size, 0, stat.st_size, (entry,))
