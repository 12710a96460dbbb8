"""Read a form of a review that a person has filled in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from ostler.cli.review.body import FormError, read_comments
from ostler.cli.review.changes import FILE_HEADS, ShownChanges
from ostler.cli.review.form import COMMIT, CUT, DECISION, MESSAGE, NOTE, SINCE
from ostler.model.review import ReviewVerdict
from ostler.project.reviews.allowed import Then
from ostler.project.reviews.bundle import NewComment, normalize


class Decision(Struct, frozen=True):
    """What a person decided; without a verdict the comments are only saved."""

    verdict: ReviewVerdict | None
    then: Then = ""


class Filled(Struct, frozen=True):
    """What a person wrote into a form."""

    decision: Decision | None  # null: the line is empty
    text: str = ""
    comments: tuple[NewComment, ...] = ()


DECISIONS: dict[str, Decision] = {
    "approve": Decision("approve"),
    "approve and merge": Decision("approve", "merge"),
    "approve and pr": Decision("approve", "pr"),
    "send back": Decision("changes"),
    "comment": Decision(None),
}
_SYNONYMS = {
    "merge": "approve and merge",
    "pr": "approve and pr",
    "approve and open pull request": "approve and pr",
    "reject": "send back",
    "comments": "comment",
}


def read_version(text: str) -> tuple[str, int]:
    """Return the version of the work that a form is about, and the review since which it shows changes."""
    head = text.partition(f"\n{DECISION}")[0].split("\n")
    version = next((line[len(COMMIT) :].strip() for line in head if line.startswith(COMMIT)), "")
    since = next((line[len(SINCE) :].strip() for line in head if line.startswith(SINCE)), "")
    return version, int(since) if since.isascii() and since.isdecimal() else 0


def read_form(text: str, shown: ShownChanges) -> Filled:
    """Return what was written into a form about these changes. Raises FormError."""
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    end = next((i for i, line in enumerate(lines) if line.rstrip() == CUT), len(lines))
    for i in range(end):
        if lines[i].startswith(FILE_HEADS[0]):
            raise FormError(i + 1, f"the line {CUT!r} above it is missing", "add it again")
    decision, start = _read_decision(lines[:end])
    comments = tuple(read_comments(lines[end + 1 :], end + 2, shown))
    return Filled(decision, _read_message(lines[start:end]), comments)


def _read_decision(lines: Sequence[str]) -> tuple[Decision | None, int]:
    """Return the decision, and the index of the line that begins the message."""
    found: list[tuple[int, str]] = []  # words after "Decision:", with the number of their line
    is_begun = False
    for number, line in enumerate(lines, 1):
        if line.lower().startswith(MESSAGE.lower()):
            return _parse_decision(found), number - 1
        if line.lower().startswith(DECISION.lower()) and not is_begun:
            is_begun = True
            found.append((number, line[len(DECISION) :]))
        elif line.strip() and not line.startswith(NOTE):
            if not is_begun:
                raise FormError(number, f"expected {DECISION!r}, found {line[:60]!r}", "add the line again")
            found.append((number, line))
    if not is_begun:
        raise FormError(max(1, len(lines)), f"there is no line {DECISION!r}", f"write {DECISION} send back")
    return _parse_decision(found), len(lines)


def _parse_decision(lines: Sequence[tuple[int, str]]) -> Decision | None:
    found: Decision | None = None
    for number, text in lines:
        name = re.sub(r"[\s_-]+", " ", text).strip(" .").lower()
        if not name:
            continue
        named = DECISIONS.get(_SYNONYMS.get(name, name))
        if named is None:
            hint = f"use one of {', '.join(DECISIONS)}; a message is written below {MESSAGE}"
            raise FormError(number, f"unknown decision {text.strip()[:60]!r}", hint)
        if found is not None:
            raise FormError(number, "there are two decisions", "keep one of them")
        found = named
    return found


def _read_message(lines: Sequence[str]) -> str:
    """Return the text from the head of the message on."""
    if not lines:
        return ""
    return normalize("\n".join((lines[0].partition(":")[2], *lines[1:])))
