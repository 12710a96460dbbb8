"""The story of an attempt, read page by page (ostler.story/1): sought in, never read as a whole."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from ostler.views.edits import edits_of
from ostler.views.log import Page

SCHEMA = "ostler.story/1"
TAIL = -1  # the offset that stands for the end
MOST_ENTRIES = 200
PAGE_BYTES = 1024 * 1024  # a page is not longer, but for a single entry that is

_LONGEST = 8 * PAGE_BYTES  # of a line, before it is taken for something else

Entry = dict[str, Any]
"""One line of the story as JSON has it, its `offset` in the file, and for a tool that edits, its `edits`."""


_DECODE = msgspec.json.Decoder(dict[str, Any]).decode


class StoryPage(Struct, frozen=True):
    size: int  # of the file, in bytes
    start: int  # the offset of the first entry
    next: int  # where the next page begins
    entries: tuple[Entry, ...] = ()
    schema: str = SCHEMA


def story_path(page: Page) -> Path:
    """Where the story of an attempt is, if it has one."""
    return page.path.with_name(f"{page.name}.story.ndjson")


def read_story(path: Path, offset: int = 0, limit: int = MOST_ENTRIES) -> StoryPage:
    """At most `limit` entries from an offset on, or the last ones of all (TAIL).

    An offset within a line is moved to the next one. A line that is still being written is left for later.
    An attempt that an older version made has one entry, the end of its page.
    """
    try:
        with path.open("rb") as file:
            return _read(file, offset, max(1, limit))
    except FileNotFoundError:
        return _read_older(path, offset)


def _read(file: BinaryIO, offset: int, limit: int) -> StoryPage:
    size = os.fstat(file.fileno()).st_size
    tail = offset < 0
    start = _line_start(file, max(0, size - PAGE_BYTES) if tail else min(offset, size))
    lines = _whole_lines(file, start)
    if tail:
        start += sum(map(len, lines[:-limit]))
        lines = lines[-limit:]
    entries, after = _entries(lines[:limit], start)
    return StoryPage(size, start, after, entries)


def _line_start(file: BinaryIO, offset: int) -> int:
    """The first line that begins at the offset or behind it, or else the one that is being written."""
    if offset == 0:
        return 0
    file.seek(offset - 1)
    while piece := file.readline(PAGE_BYTES):
        if piece.endswith(b"\n"):
            return file.tell()
    before = max(0, offset - _LONGEST)
    file.seek(before)
    return before + file.read(offset - before).rfind(b"\n") + 1


def _whole_lines(file: BinaryIO, start: int) -> list[bytes]:
    file.seek(start)
    data = file.read(PAGE_BYTES)
    if b"\n" not in data:
        data += file.readline(_LONGEST)
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


def _entries(lines: list[bytes], start: int) -> tuple[tuple[Entry, ...], int]:
    entries: list[Entry] = []
    offset, at = start, 0.0
    for line in lines:
        if found := _entry(line):
            at = found.setdefault("at", at)
            entries.append({"offset": offset, **found, **_shown(found)})
        offset += len(line)
    return tuple(entries), offset


def _shown(entry: Entry) -> Entry:
    """What is added for whoever draws it: the changes of files, whatever the agent's words for them."""
    edits = edits_of(entry.get("input")) if entry["type"] == "tool_used" else []
    return {"edits": edits} if edits else {}


def _entry(line: bytes) -> Entry | None:
    """One line; None for what is none of ours, such as half a line behind a cut."""
    try:
        found = _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = _patient(line)
    if found is not None and found.get("type") == "ostler_cut":
        return {"type": "warned", "message": f"{found['bytes']} bytes of this story were not kept"}
    return found if found is not None and "type" in found else None


def _patient(line: bytes) -> Entry | None:
    """A tool's input is kept as the agent wrote it, with half characters that msgspec refuses."""
    try:
        found = json.loads(line.decode("utf-8", "replace"), strict=False)
        clean = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")
        return _DECODE(clean)
    except (ValueError, RecursionError):
        return None


def _read_older(path: Path, offset: int) -> StoryPage:
    page = path.with_name(path.name.removesuffix(".story.ndjson") + ".md")
    try:
        with page.open("rb") as file:
            stat = os.fstat(file.fileno())
            file.seek(max(0, stat.st_size - PAGE_BYTES))
            text = file.read(PAGE_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return StoryPage(0, 0, 0)
    if offset > 0 or not text:
        return StoryPage(stat.st_size, stat.st_size, stat.st_size)
    entry: Entry = {"offset": 0, "at": stat.st_mtime, "type": "text_said", "text": text}
    return StoryPage(stat.st_size, 0, stat.st_size, (entry,))
