"""The answers of an agent to the comments of a review: one JSON object at the end of its final text."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from msgspec import Struct

from ostler.lazy import lazy_pattern
from ostler.model.review import Reply, ReplyStatus
from ostler.prompt.answer import extract_text
from ostler.text import one_line

_EXAMPLE = "what you did, and why"
REPLY_EXAMPLE = f"""\
{{"replies": [{{"comment": 1, "status": "changed", "where": "src/a.py:12", "text": "{_EXAMPLE}"}}]}}"""

_STATUSES: dict[str, ReplyStatus] = {
    "changed": "changed",
    "change": "changed",
    "done": "changed",
    "fixed": "changed",
    "answered": "answered",
    "answer": "answered",
    "declined": "declined",
    "rejected": "declined",
}
_LONGEST = 20_000  # characters of a reply
_ENTRIES = lazy_pattern(r"\"replies\"\s*:\s*(?=\[)")
_OPENING = lazy_pattern(r"\{\s*\Z")
_CLOSING = lazy_pattern(r"\s*\}")
_FENCE_BEFORE = lazy_pattern(r"(?:`{3,}|~{3,})[ \t]*(?:json\w*)?[ \t]*\n\s*\Z", re.IGNORECASE)
_FENCE_AFTER = lazy_pattern(r"\s*(?:`{3,}|~{3,})[ \t]*(?=\n|\Z)")
# A line end inside a string is an error that models make.
_decoder = json.JSONDecoder(strict=False)


class _Located(Struct, frozen=True):
    """An object of answers in a text."""

    start: int
    end: int
    entries: list[Any]
    is_alone: bool  # the object has nothing else


def read_replies(text: str) -> tuple[Reply, ...]:
    """Return the answers of the last object in a text; none if it has no readable one.

    The object may be in a fence and have text around it. Entries without a number or a known status are left
    out; the last entry of a number counts.
    """
    found = _locate(text) or _locate(extract_text(text))
    replies = map(_read_reply, found.entries if found else ())
    return tuple({one.comment: one for one in replies if one is not None}.values())


def strip_replies(text: str) -> str:
    """Return the text without the object of answers and its fence; any other text is unchanged."""
    found = _locate(text)
    if found is None or not found.is_alone:
        return text
    before, after = text[: found.start], text[found.end :]
    if fence := _FENCE_BEFORE.search(before):
        before = before[: fence.start()]
        after = _FENCE_AFTER.sub("", after, count=1)
    kept = "\n\n".join(part for part in (before.rstrip(), after.strip()) if part)
    return f"{kept}\n" if text.endswith("\n") and kept else kept


def _locate(text: str) -> _Located | None:
    """Return the last object of answers."""
    for found in reversed(list(_ENTRIES.finditer(text))):
        try:
            entries, end = _decoder.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            continue
        opening, closing = _OPENING.search(text[: found.start()]), _CLOSING.match(text, end)
        if isinstance(entries, list) and any(_read_reply(one) for one in cast("list[Any]", entries)):
            start = opening.start() if opening else found.start()
            end = closing.end() if closing else end
            return _Located(start, end, cast("list[Any]", entries), bool(opening and closing))
    return None


def _read_reply(entry: object) -> Reply | None:
    if not isinstance(entry, dict):
        return None
    fields = cast("dict[str, Any]", entry)
    number, status = fields.get("comment"), _STATUSES.get(str(fields.get("status")).strip().lower())
    if isinstance(number, str) and number.strip().lstrip("#").isdecimal():
        number = int(number.strip().lstrip("#"))
    if not isinstance(number, int) or isinstance(number, bool) or number < 1 or status is None:
        return None
    where, text = (str(fields.get(name) or "") for name in ("where", "text"))
    if text == _EXAMPLE:  # a copy of the request
        return None
    return Reply(number, status, one_line(where), text.strip()[:_LONGEST])
