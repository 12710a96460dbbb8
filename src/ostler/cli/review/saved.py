"""Which saved comments a form has: those that were saved or changed after it was written stay as they are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from ostler.cli.review.form import COMMIT, DECISION
from ostler.model.review import Comment
from ostler.project.reviews.bundle import NewComment, take_content

_Draft = TypeVar("_Draft", bound=Comment)
_LINE = "# Saved comments in this form: "


def name_saved(drafts: Iterable[Comment]) -> list[str]:
    """Return the line of a form that names these comments; none without a comment."""
    names = [_digest(one) for one in drafts]
    return [_LINE + " ".join(names)] if names else []


def select_saved(text: str, drafts: Sequence[_Draft]) -> list[_Draft]:
    """Return the comments that a form has from the beginning."""
    head = text.partition(f"\n{DECISION}")[0].split("\n")
    line = next((line for line in head if line.startswith(_LINE)), _LINE)
    names = line[len(_LINE) :].split()
    return [one for one in drafts if _digest(one) in names]


def note_saved(text: str, drafts: Sequence[Comment], comments: Iterable[NewComment]) -> str:
    """Return the form with the names of those of its comments that were saved although it was not sent."""
    head, decision, rest = text.partition(f"\n{DECISION}")
    known = [*comments]
    named = select_saved(text, drafts)
    named += [one for one in drafts if one not in named and take_content(one) in known]
    lines = [line for line in head.split("\n") if not line.startswith(_LINE)]
    at = next((n for n, line in enumerate(lines, 1) if line.startswith(COMMIT)), len(lines))
    return "\n".join([*lines[:at], *name_saved(named), *lines[at:]]) + decision + rest


def _digest(comment: Comment) -> str:
    content = msgspec.json.encode((comment.id, take_content(comment)))
    return hashlib.sha256(content).hexdigest()[:12]
