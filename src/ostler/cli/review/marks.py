"""The notation of comments in a form: a mark, an optional place, and the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote, unquote

from msgspec import Struct

from ostler.errors import UsageError
from ostler.model.review import CommentKind, Place, Side
from ostler.project.reviews.bundle import NewComment, normalize

MARKS: dict[CommentKind, str] = {"change": "!", "question": "?", "remark": "*"}
SUGGESTION = "="
KIND_OF: dict[str, CommentKind] = {mark: kind for kind, mark in MARKS.items()}
_PLACED = re.compile(r"\(([^()]*)\) ?(.*)", re.DOTALL)
_LINES = re.compile(r"(.+?)(?::(\d{1,8})(?:-(\d{1,8}))?)?", re.DOTALL)
_OLD = "old "
_ESCAPED = re.compile(r"[%():\x00-\x1f\x7f]|[^\S ]")


class Placed(Struct, frozen=True):
    """The beginning of a comment: where it is, if that is written, and the first line of its text."""

    text: str
    place: Place | None = None
    count: int = 1  # of the lines above it, without a place


def read_mark(text: str, side: Side) -> Placed:
    """Return the text after a mark, with its place. Raises UsageError."""
    found = _PLACED.fullmatch(text)
    if found is None:
        if text.startswith("("):
            raise UsageError("the place of the comment has no )", "write ! TEXT, !(3) TEXT or !(PATH:7) TEXT")
        return Placed(text.removeprefix(" "))
    named = found[1].strip(" ")
    if named.isascii() and named.isdecimal():
        return Placed(found[2], count=_require_count(named))
    return Placed(found[2], parse_place(named, side))


def parse_place(text: str, side: Side) -> Place:
    """Return the place that is written as PATH, PATH:LINE or PATH:FIRST-LAST. Raises UsageError."""
    is_old = text.startswith(_OLD)
    found = _LINES.fullmatch(text.removeprefix(_OLD).strip(" "))
    if found is None:
        raise UsageError("the place of the comment is empty", "write PATH, PATH:LINE or PATH:FIRST-LAST")
    path = unquote(found[1].removeprefix("./"), errors="replace")
    return Place(path, "old" if is_old else side, *read_lines(found[2], found[3]))


def read_lines(first: str | None, last: str | None) -> tuple[int, int]:
    """Return the first and the last line of a place; zeros without lines. Raises UsageError."""
    if first is None:
        return 0, 0
    if int(first) == 0:
        raise UsageError("there is no line 0", "lines begin at 1; leave the line out for the whole file")
    return int(first), int(last or first)


def format_place(place: Place) -> str:
    """Return the place as `parse_place` reads it."""
    path = _ESCAPED.sub(lambda one: quote(one[0], safe=""), place.path)
    is_unclear = path.isdecimal() or path.startswith((_OLD, "./", " ")) or path.endswith(" ")
    path = f"./{path}" if is_unclear else path
    path = path.replace(" ", "%20") if is_unclear else path
    return (_OLD if place.side == "old" else "") + path + format_lines(place)


def format_lines(place: Place) -> str:
    """Return the lines of a place after its path."""
    if not place.line:
        return ""
    return f":{place.line}" + (f"-{place.end_line}" if place.end_line > place.line else "")


def write_comment(comment: NewComment, where: str) -> Iterator[str]:
    """Yield the lines of a comment; `where` is its place or empty."""
    mark = MARKS[comment.kind]
    first, *rest = normalize(comment.text).split("\n")
    yield f"{mark}{f'({where})' if where else ''} {first}".rstrip()
    for line in rest:
        yield f"{mark} {line}".rstrip()
    if comment.suggestion is not None:
        for line in comment.suggestion.split("\n"):
            yield f"{SUGGESTION} {line}" if line else SUGGESTION


def _require_count(text: str) -> int:
    if not 1 <= (count := int(text[:9])) <= 10_000:
        raise UsageError(f"{text} lines above cannot be named", "write a number from 1 to 10000")
    return count
