"""A changed file."""

from __future__ import annotations

from msgspec import Struct


class FileChange(Struct, frozen=True):
    """A file that was added, changed or deleted; line counts are None for binary files."""

    path: str
    insertions: int | None = None
    deletions: int | None = None
