"""Cursors of pages as text in an address."""

from __future__ import annotations

import base64
from typing import Any, TypeVar

import msgspec

from ostler.errors import UsageError

T = TypeVar("T")


def write_cursor(place: object) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def read_cursor(text: str, kind: type[T] | Any) -> T | None:
    """Return the place of a cursor; None for an empty one. Raises UsageError for any other text."""
    if not text:
        return None
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.json.decode(data, type=kind)
    except (ValueError, msgspec.DecodeError):
        raise invalid_cursor() from None


def invalid_cursor() -> UsageError:
    return UsageError(
        "invalid after: it is not a cursor of this list",
        "use the `next` of the previous page, or leave it out",
    )
