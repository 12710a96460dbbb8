"""Task ids: readable, unique, and valid as file name, branch name and argument."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NewType

from ostler.errors import UsageError
from ostler.lazy import lazy_pattern

TaskId = NewType("TaskId", str)

_ID = lazy_pattern(r"[a-z0-9][a-z0-9-]{2,39}")
_FOREIGN_ID = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_LONGEST = 40
_SHOWN_IDS = 5  # of those that have an ambiguous prefix
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


def adopt_task_id(text: str) -> TaskId:
    """Return the task id for an id of another program, always the same one: TASK-001 becomes task-001.

    One that is too long or too short, or has other characters, gets a tail that keeps it unique. Raise
    UsageError for a text that is no plain word of letters, digits, dots, hyphens and underscores.
    """
    if is_task_id(lower := text.lower()):
        return TaskId(lower)
    if not _FOREIGN_ID.fullmatch(text):
        return require_task_id(text)
    from hashlib import blake2b  # noqa: PLC0415  (only an import of tasks needs it)

    tail = make_id_tail(blake2b(text.encode(), digest_size=4).digest())
    return TaskId(f"{_to_slug(text)[: _LONGEST - len(tail) - 1].rstrip('-')}-{tail}")


def find_adopted_id(text: str) -> str:
    """Return the id that an imported task got instead of this one; the text itself if it cannot be one."""
    try:
        return adopt_task_id(text)
    except UsageError:
        return text


def explain_ambiguous(text: str, found: Sequence[str]) -> UsageError:
    """Return the error for a prefix that several ids have."""
    more = f" and {len(found) - _SHOWN_IDS} more" if len(found) > _SHOWN_IDS else ""
    return UsageError(f"{text} is ambiguous: {', '.join(found[:_SHOWN_IDS])}{more}", "use a longer prefix")


def make_id_tail(data: bytes) -> str:
    """Return four characters derived from the first four bytes."""
    return "".join(TAIL_ALPHABET[byte % len(TAIL_ALPHABET)] for byte in data[:4])


def make_task_id(title: str, tail: str) -> TaskId:
    """Return the title as a slug, followed by the tail."""
    slug = _to_slug(title)
    if len(slug) > _LONGEST_SLUG:
        slug = slug[: _LONGEST_SLUG + 1].rpartition("-")[0] or slug[:_LONGEST_SLUG]
    return TaskId(f"{slug or 'task'}-{tail}")


def _to_slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
