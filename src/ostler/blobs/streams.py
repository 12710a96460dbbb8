"""Writes what is downloaded to a file, without its size in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ostler.files.disk import to_disk_error


def replace_file(path: Path, blocks: Iterable[bytes]) -> None:
    """Replace a file at once, so that nobody reads half of it; only its owner can read it."""
    partial_copy = path.with_name(f"{path.name}.partial")
    try:
        with open(partial_copy, "wb", opener=_open_private) as file:
            for block in blocks:
                file.write(block)
        partial_copy.replace(path)
    except OSError as error:
        raise to_disk_error(path, error) from error


def begins_with(path: Path, blocks: Iterable[bytes]) -> bool:
    """Return whether a file begins with these bytes."""
    with path.open("rb") as file:
        return all(file.read(len(block)) == block for block in blocks)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
