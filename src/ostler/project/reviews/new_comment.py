"""A comment as programs and MCP clients give it, without an id of their own."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from ostler.model.review import CommentKind
from ostler.project.reviews.drafts import CommentChange, PlaceChange


class ReviewComment(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A comment for the agent: on lines of a file, on a file, or without a path on the whole work."""

    text: Annotated[str, Meta(description="What should be different, or a question; Markdown.")] = ""
    kind: Annotated[
        CommentKind,
        Meta(description="change: do it, or decline it. question: answer it. remark: no answer is needed."),
    ] = "change"
    path: Annotated[str, Meta(description="A file of the task; empty: the whole work.")] = ""
    line: Annotated[int, Meta(ge=0, description="The first line, from 1; 0: the whole file.")] = 0
    end_line: Annotated[int, Meta(ge=0, description="The last line; 0: only the first.")] = 0
    side: Annotated[
        Literal["new", "old"],
        Meta(description="new: the lines of the work. old: the lines of its base, which it removed."),
    ] = "new"
    suggestion: Annotated[
        str | None, Meta(description="Code to use instead of these lines; empty: delete them.")
    ] = None


def build_change(comment: ReviewComment, version: str, *, is_document: bool) -> CommentChange:
    """Return the comment on this version; its id is made from it, so that a repetition adds nothing."""
    place = PlaceChange(
        comment.path,
        "document" if is_document else comment.side,
        comment.line,
        comment.end_line or comment.line,
    )
    digest = hashlib.sha256(msgspec.json.encode((comment, version))).hexdigest()
    return CommentChange(
        id=f"c-{digest[:24]}",
        kind=comment.kind,
        place=place,
        text=comment.text,
        suggestion=comment.suggestion,
        commit=version,
    )
