"""The form of a review: the text that a person fills in with an editor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ostler.cli.review.changes import ShownChanges
from ostler.cli.review.marks import format_place, write_comment
from ostler.errors import UsageError
from ostler.model.review import Place
from ostler.project.reviews.bundle import NewComment

NOTE = "#"
CUT = "# ---- Changes ----"
DECISION, MESSAGE = "Decision:", "Message:"
COMMIT, SINCE = "# Version: ", "# Since review: "
_GUIDE = """\
Write a decision after "Decision:", a message below "Message:", and comments
below the lines that they are about. Save and close to send all of it; an
unchanged form sends nothing.

  ! must change   ? question   * remark   = a line instead of the one above

Repeat the mark on each line. !(3) is about the three lines above it,
!(PATH:7-9) about other lines. Below the head of a file a comment is about
the file. Lines with # are ignored, except in the message."""


class FormHead(Struct, frozen=True):
    """The first lines of a form, which name what it is about."""

    version: str  # of the work
    lines: tuple[str, ...] = ()  # about the task
    decisions: tuple[tuple[str, str], ...] = ()  # that are possible, each with its meaning


class Entries(Struct, frozen=True):
    """What a form has from the beginning."""

    text: str = ""
    comments: tuple[NewComment, ...] = ()
    notes: Mapping[int, Sequence[str]] = {}  # below the line of the changes with this index; -1: before them
    saved: tuple[str, ...] = ()  # the line that names those of the comments that are saved


def write_form(head: FormHead, shown: ShownChanges, entries: Entries) -> str:
    lines = [
        *write_notes(head.lines),
        NOTE,
        f"{COMMIT}{head.version}".rstrip(),
        *([f"{SINCE}{shown.since}"] if shown.since else []),
        *entries.saved,
        NOTE,
        *write_notes(_GUIDE.split("\n")),
        NOTE,
        *write_notes(f"  {name:<18} {meaning}" for name, meaning in head.decisions),
        "",
        DECISION,
        "",
        MESSAGE,
        *([entries.text] if entries.text else []),
        "",
        CUT,
        *write_notes(shown.notes),
        *_write_body(shown, entries),
    ]
    return "\n".join(lines) + "\n"


def write_notes(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts as lines that the form ignores."""
    return (f"{NOTE} {line}".rstrip() for text in texts for line in text.split("\n"))


def _write_body(shown: ShownChanges, entries: Entries) -> Iterator[str]:
    blocks: dict[int, list[list[str]]] = {}
    index = shown.index()
    for comment in entries.comments:
        at, where = _find_line(comment.place, shown, index)
        blocks.setdefault(at, []).append([*write_comment(comment, where)])
    for at in range(-1, len(shown.lines)):
        if at >= 0:
            yield shown.lines[at].text
        yield from write_notes(entries.notes.get(at, ()))
        for number, block in enumerate(blocks.get(at, ())):
            yield from [NOTE, *block] if number else block


def _find_line(place: Place, shown: ShownChanges, index: Mapping[Place, int]) -> tuple[int, str]:
    """Return the index of the line above a comment, and its place in words if that line is not enough."""
    if not place.path:
        return -1, ""
    at, count = index.get(replace(place, line=place.end_line)), place.end_line - place.line + 1
    if at is None or not _is_above(place, shown, at, count):
        return -1, format_place(place)
    return at, str(count) if count > 1 else ""


def _is_above(place: Place, shown: ShownChanges, at: int, count: int) -> bool:
    try:
        return shown.place_above(at, count) == place
    except UsageError:
        return False
