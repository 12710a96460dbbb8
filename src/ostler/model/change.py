"""What a task did to one file."""

from __future__ import annotations

from msgspec import Struct


class FileChange(Struct, frozen=True):
    """A file that is new, changed or gone; a binary one has no lines."""

    path: str
    insertions: int | None = None
    deletions: int | None = None
