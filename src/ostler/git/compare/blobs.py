"""The sizes and contents of blobs, many per process."""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec import Struct

from ostler.git.compare.reading import read_bounded, read_objects
from ostler.git.repository import Repository


class FoundObjects(Struct, frozen=True):
    """What one process found; objects that are missing are left out."""

    sizes: dict[str, int]
    contents: dict[str, bytes]


def find_objects(
    repository: Repository, sizes: Iterable[str] = (), contents: Iterable[str] = ()
) -> FoundObjects:
    """Return sizes of blobs by id, and contents of blobs by name (an id, or COMMIT:path).

    A name with a line break is ignored: git cannot read it here.
    """
    wanted = dict.fromkeys(sizes)
    names = [name for name in dict.fromkeys(contents) if "\n" not in name]
    if not wanted and not names:
        return FoundObjects({}, {})
    lines = [*(f"info {one}\n" for one in wanted), *(f"contents {name}\n" for name in names)]
    given = "".join(lines).encode("utf-8", "surrogateescape")
    output = read_objects(repository, "cat-file", "--batch-command", "--buffer", stdin=given)
    return _parse(output, len(wanted), names)


def read_blob(repository: Repository, blob: str, limit: int) -> bytes:
    """Return at most this many bytes of a blob. Raises GitError."""
    return read_bounded(repository, limit, "cat-file", "blob", blob).data


def find_entry(repository: Repository, version: str, path: str) -> str:
    """Return the id of the file with this path in a commit or tree; empty if there is none."""
    output = read_objects(repository, "ls-tree", "-z", "--full-tree", "--end-of-options", version, path)
    entries = [entry.partition(b"\t") for entry in output.split(b"\0")[:-1]]
    heads = [head.split(b" ") for head, _, name in entries if name == os.fsencode(path)]
    return next((head[2].decode() for head in heads if head[1] == b"blob"), "")


def _parse(output: bytes, count: int, names: list[str]) -> FoundObjects:
    sizes: dict[str, int] = {}
    found: dict[str, bytes] = {}
    at = 0
    for _ in range(count):
        end = output.index(b"\n", at)
        header, at = output[at:end].split(b" "), end + 1
        if header[-1] != b"missing":
            sizes[header[0].decode()] = int(header[2])
    for name in names:
        end = output.index(b"\n", at)
        header, at = output[at:end], end + 1
        if header.endswith((b" missing", b" ambiguous")):
            continue
        size = int(header.rpartition(b" ")[2])
        found[name] = output[at : at + size]
        at += size + 1
    return FoundObjects(sizes, found)
