"""Task ids: readable, unique, and valid as file name, branch name and argument."""

from __future__ import annotations

import re
import unicodedata
from typing import NewType

from ostler.errors import UsageError

TaskId = NewType("TaskId", str)

_ID = re.compile(r"[a-z0-9][a-z0-9-]{2,39}")
_LONGEST_SLUG = 24  # ids have up to 40 characters; lists show about this many
TAIL_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


def is_task_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def require_task_id(text: str) -> TaskId:
    """Return the id; raise UsageError for a text that is not valid as file name, branch name and argument."""
    if not is_task_id(text):
        raise UsageError(
            f"invalid task id {text!r:.80}",
            "use 3 to 40 lowercase letters, digits and hyphens, with a letter or digit first",
        )
    return TaskId(text)


def make_id_tail(data: bytes) -> str:
    """Return four characters derived from the first four bytes."""
    return "".join(TAIL_ALPHABET[byte % len(TAIL_ALPHABET)] for byte in data[:4])


def make_task_id(title: str, tail: str) -> TaskId:
    """Return the title as a slug, followed by the tail."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if len(slug) > _LONGEST_SLUG:
        slug = slug[: _LONGEST_SLUG + 1].rpartition("-")[0] or slug[:_LONGEST_SLUG]
    return TaskId(f"{slug or 'task'}-{tail}")
