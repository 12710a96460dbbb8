"""The files that differ between two commits or trees."""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec import Struct

from ostler.git.compare.reading import read_objects, run_on_objects
from ostler.git.repository import Repository

SUBMODULE_MODE, LINK_MODE, NO_MODE = "160000", "120000", "000000"
DIFF_TREE = ("diff-tree", "-r", "--histogram", "--no-ext-diff", "--no-textconv", "--no-color", "--no-abbrev")
_LIST = (*DIFF_TREE, "--raw", "--numstat", "-z")


class Delta(Struct, frozen=True):
    """A file that was added, changed, renamed or deleted."""

    path: str  # with the bytes of an invalid name as surrogates
    old_path: str  # the same, unless it was renamed
    letter: str  # status of git: A, D, M, R or T
    old_mode: str
    new_mode: str
    old_blob: str  # empty: there is none
    new_blob: str
    additions: int | None  # null: not compared by lines
    deletions: int | None


def list_deltas(
    repository: Repository, left: str, right: str, similarity_percent: int = 50
) -> tuple[Delta, ...]:
    """Return the files that differ, in the order of git. Raises GitError."""
    ends = ("--end-of-options", left, right, "--")
    output = read_objects(repository, *_LIST, f"-M{similarity_percent}%", *ends)
    return tuple(_parse(output))


def has_same_files(repository: Repository, left: str, right: str) -> bool:
    """Return whether two commits or trees have the same files. Raises GitError."""
    ends = ("--end-of-options", left, right, "--")
    return run_on_objects(repository, *DIFF_TREE, "--quiet", *ends, accept=(0, 1)).status == 0


def format_name(path: str) -> str:
    """Return a path of git as text; bytes of an invalid name become replacement characters."""
    return os.fsencode(path).decode("utf-8", "replace")


def _parse(output: bytes) -> Iterator[Delta]:
    """Yield the files of the list, which has all raw entries first and then a count for each."""
    fields = os.fsdecode(output).split("\0")[:-1]
    entries: list[tuple[list[str], str, str]] = []
    at = 0
    while at < len(fields) and fields[at].startswith(":"):
        entry = fields[at][1:].split(" ")
        is_renamed = entry[4][0] in "RC"
        entries.append((entry, fields[at + 1], fields[at + 1 + is_renamed]))
        at += 2 + is_renamed
    for entry, old_path, path in entries:
        additions, deletions, name = fields[at].split("\t", 2)
        at += 1 if name else 3  # the names of a renamed file are fields of their own
        yield Delta(
            path=path,
            old_path=old_path,
            letter=entry[4][0],
            old_mode=entry[0],
            new_mode=entry[1],
            old_blob=_known(entry[2]),
            new_blob=_known(entry[3]),
            additions=_count(additions),
            deletions=_count(deletions),
        )


def _known(blob: str) -> str:
    return blob if blob.strip("0") else ""


def _count(lines: str) -> int | None:
    return None if lines == "-" else int(lines)
