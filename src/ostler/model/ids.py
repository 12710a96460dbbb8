"""Names of tasks: readable, unique, safe as a file name, a branch name and an argument."""

from __future__ import annotations

import re
import unicodedata
from typing import NewType

TaskId = NewType("TaskId", str)

_ID = re.compile(r"[a-z0-9][a-z0-9-]{2,39}")
_LONGEST_SLUG = 24  # an id may have 40 characters; this is what a line of a list has room for
TAIL_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


def is_task_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def tail_of(data: bytes) -> str:
    """Four characters drawn from four bytes."""
    return "".join(TAIL_ALPHABET[byte % len(TAIL_ALPHABET)] for byte in data[:4])


def task_id(title: str, tail: str) -> TaskId:
    """The title as a slug, then the four characters that the client drew."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if len(slug) > _LONGEST_SLUG:
        slug = slug[: _LONGEST_SLUG + 1].rpartition("-")[0] or slug[:_LONGEST_SLUG]
    return TaskId(f"{slug or 'task'}-{tail}")
