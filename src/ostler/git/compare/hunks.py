"""Where files of one commit or tree are in another one, and which of their lines were replaced."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from msgspec import Struct

from ostler.git.compare.deltas import DIFF_TREE, Delta, format_name, list_deltas
from ostler.git.compare.reading import read_bounded
from ostler.git.repository import Repository

_SIMILARITY_PERCENT = 40  # lower than for a patch: a comment must not be lost by a rename with edits
_HUNKS = (*DIFF_TREE, f"-M{_SIMILARITY_PERCENT}%", "-p", "-U0", "--full-index")
_LIMIT = 64 * 1024 * 1024
_INDEX = re.compile(rb"index ([0-9a-f]+)\.\.([0-9a-f]+)")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

Numbers = tuple[int, int, int, int]
"""Start and count of the old lines, and of the new ones, as in the header of a hunk."""


class ChangedLines(Struct, frozen=True):
    """A file that differs."""

    path: str  # in the right one; empty: it was deleted
    old_blob: str
    new_blob: str
    hunks: tuple[Numbers, ...] | None  # null: not compared by lines


def read_hunks(
    repository: Repository, left: str, right: str, paths: Collection[str]
) -> dict[str, ChangedLines]:
    """Return the files of `left` with these names that differ, by name. Raises GitError."""
    deltas = [
        delta
        for delta in list_deltas(repository, left, right, _SIMILARITY_PERCENT)
        if delta.letter != "A" and format_name(delta.old_path) in paths
    ]
    if not deltas:
        return {}
    names = dict.fromkeys(name for delta in deltas for name in (delta.old_path, delta.path))
    output = read_bounded(repository, _LIMIT, *_HUNKS, "--end-of-options", left, right, "--", *names)
    hunks = {} if output.truncated else dict(_parse(output.data))
    return {format_name(delta.old_path): _describe(delta, hunks) for delta in deltas}


def _describe(delta: Delta, hunks: dict[tuple[str, str], tuple[Numbers, ...]]) -> ChangedLines:
    is_deleted = delta.letter == "D"
    found = hunks.get((delta.old_blob, delta.new_blob)) if delta.additions is not None else None
    if delta.old_blob == delta.new_blob:
        found = ()
    return ChangedLines("" if is_deleted else format_name(delta.path), delta.old_blob, delta.new_blob, found)


def _parse(patch: bytes) -> Iterator[tuple[tuple[str, str], tuple[Numbers, ...]]]:
    """Yield the hunks of each file by the ids of its blobs: names may contain anything."""
    key, found = ("", ""), list[Numbers]()
    for line in patch.split(b"\n"):
        if line.startswith(b"index ") and (index := _INDEX.match(line)):
            if found:
                yield key, tuple(found)
            key, found = (index[1].decode(), index[2].decode()), []
        elif line.startswith(b"@@ ") and (hunk := _HUNK.match(line)):
            old_start, old_count, new_start, new_count = hunk.groups()
            found.append((int(old_start), int(old_count or 1), int(new_start), int(new_count or 1)))
    if found:
        yield key, tuple(found)
