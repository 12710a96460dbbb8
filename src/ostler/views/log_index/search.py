"""Finds a text in all attempt logs of a task, page by page (ostler.search/1)."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from ostler.views.agent_work.tool_verb import find_verb
from ostler.views.log_index.blocks import Block, LogFile, LogScan, Place
from ostler.views.log_index.entry import decode_line, visible_texts

SECONDS = 0.25  # of one page
_BEFORE, _AFTER = 60, 120  # characters of an excerpt


class SearchHit(Struct, frozen=True):
    """An entry that contains the text, with an excerpt around the first place."""

    attempt: int
    offset: int
    at: float | None
    type: str
    tool: str
    verb: str  # of the tool
    before: str
    match: str
    after: str


class SearchPage(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.search/1"
    id: str
    q: str
    hits: tuple[SearchHit, ...]
    next: Place  # where the next page starts
    done: bool  # nothing is left to search; a running attempt may add to it
    scanned: int  # bytes of all logs before that place
    total: int


def search_logs(
    task: str,
    files: Sequence[LogFile],
    text: str,
    start: Place,
    limit: int,
    seconds: float = SECONDS,
    monotonic: Callable[[], float] = time.monotonic,
) -> SearchPage:
    """Return at most `limit` entries from a place on, without regard to case; fewer if the time is over."""
    finder = _Finder(text)
    scan = LogScan(files, start, monotonic, seconds)
    hits: list[SearchHit] = []
    for block in scan.blocks():
        for hit, end in finder.find(block):
            hits.append(hit)
            if len(hits) >= limit:
                scan.stop_at(Place(block.attempt, end))
                break
        if len(hits) >= limit:
            break
    progress = scan.progress
    return SearchPage(
        id=task,
        q=text,
        hits=tuple(hits),
        next=progress.next,
        done=progress.done,
        scanned=progress.scanned,
        total=progress.total,
    )


class _Finder:
    """Looks at the bytes of a block first: most of them contain nothing and are never decoded."""

    def __init__(self, text: str) -> None:
        lowered = text.lower()
        self._pattern = re.compile(re.escape(text), re.IGNORECASE)
        self._is_ascii = text.isascii()
        # In JSON, quotes and backslashes are escaped; some agents escape other letters, too.
        written = (json.dumps(lowered, ensure_ascii=escaped)[1:-1] for escaped in (False, True))
        self._needles = tuple({one.encode("utf-8", "replace") for one in written})

    def find(self, block: Block) -> Iterator[tuple[SearchHit, int]]:
        """Yield each entry that contains the text, with the offset after its line."""
        for start, end in self._lines_with_needle(block.data):
            if (hit := self._match(block.attempt, block.offset + start, block.data[start:end])) is not None:
                yield hit, block.offset + end + 1

    def _lines_with_needle(self, data: bytes) -> Iterator[tuple[int, int]]:
        lowered = self._lower(data)
        if len(lowered) != len(data):
            yield from self._each_line(data)
            return
        position = 0
        while (found := self._first(lowered, position)) >= 0:
            start = lowered.rfind(b"\n", 0, found) + 1
            end = lowered.find(b"\n", found)
            end = len(data) if end < 0 else end
            yield start, end
            position = end + 1

    def _lower(self, data: bytes) -> bytes:
        return data.lower() if self._is_ascii else data.decode("utf-8", "replace").lower().encode()

    def _each_line(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the lines of a block in which lower case has another length."""
        start = 0
        for line in data.split(b"\n"):
            if self._first(self._lower(line), 0) >= 0:
                yield start, start + len(line)
            start += len(line) + 1

    def _first(self, lowered: bytes, position: int) -> int:
        found = [at for needle in self._needles if (at := lowered.find(needle, position)) >= 0]
        return min(found, default=-1)

    def _match(self, attempt: int, offset: int, line: bytes) -> SearchHit | None:
        entry = decode_line(line)
        if entry is None:
            return None
        for text in visible_texts(entry):
            if (found := self._pattern.search(text)) is not None:
                before, match, after = _cut_excerpt(text, *found.span())
                when, tool = entry.get("at"), entry.get("tool", "")
                verb = find_verb(tool) if tool else ""
                return SearchHit(attempt, offset, when, entry["type"], tool, verb, before, match, after)
        return None


def _cut_excerpt(text: str, at: int, end: int) -> tuple[str, str, str]:
    before, after = text[max(0, at - _BEFORE) : at], text[end : end + _AFTER]
    lead = "…" if at > _BEFORE else ""
    trail = "…" if end + _AFTER < len(text) else ""
    return lead + _flat(before), _flat(text[at:end]), _flat(after) + trail


def _flat(text: str) -> str:
    """Return the text on one line; spaces at its ends stay."""
    return "".join(" " if one.isspace() else one for one in text)
