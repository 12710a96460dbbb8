"""Comments on an earlier version of the work, moved to the same lines of the current one."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ostler.cli.review.earlier import describe_place
from ostler.model.ids import TaskId
from ostler.model.review import Comment, Place
from ostler.project.project import Project
from ostler.project.reviews.bundle import NewComment, take_content
from ostler.project.reviews.current_lines import find_draft_lines
from ostler.project.reviews.view import DraftComment


def carry_drafts(drafts: Iterable[DraftComment]) -> list[NewComment]:
    """Return the saved comments, each at the place that its lines have now."""
    return [_move(one, one.now) for one in drafts]


def carry_comments(
    project: Project, task: TaskId, version: str, comments: Iterable[NewComment]
) -> list[NewComment]:
    """Return comments on that version at their places in the current one."""
    found = tuple(
        Comment(
            id=str(n),
            kind=one.kind,
            place=one.place,
            text=one.text,
            suggestion=one.suggestion,
            commit=version,
        )
        for n, one in enumerate(comments)
    )
    mapped = find_draft_lines(project, project.state(task), found)
    return [_move(one, lines.place) for one, lines in zip(found, mapped, strict=True)]


def _move(comment: Comment, now: Place | None) -> NewComment:
    """Return the comment at its new place; one whose lines are gone names them, and is about the work."""
    if not comment.place.path:
        return take_content(comment)
    if now is not None:
        return take_content(replace(comment, place=now))
    text = f"{describe_place(comment.place)} of an earlier version: {comment.text}"
    return NewComment(comment.kind, Place(), text, None)
