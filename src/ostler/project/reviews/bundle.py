"""Save the comments of a form or of a command as drafts, and send them with a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import asdict

from ostler.model.ids import TaskId
from ostler.model.review import Comment, CommentKind, Place, Review
from ostler.project.person import read_user_name
from ostler.project.project import Project
from ostler.project.reviews.allowed import require_version
from ostler.project.reviews.drafts import CommentChange, PlaceChange, delete_draft, save_draft
from ostler.project.reviews.send import NewReview, send_review


class NewComment(Struct, frozen=True):
    """What a person wrote about some lines."""

    kind: CommentKind
    place: Place
    text: str
    suggestion: str | None = None


def normalize(text: str) -> str:
    """Return a text without the white space at the ends of its lines."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def take_content(comment: Comment | NewComment) -> NewComment:
    """Return what a person wrote, so that it can be compared."""
    return NewComment(comment.kind, comment.place, normalize(comment.text), comment.suggestion)


def list_drafts(project: Project, task: TaskId) -> tuple[Comment, ...]:
    """Return the comments of this person that are not sent yet."""
    return project.journal.reviews.drafts(task, read_user_name())


def save_comments(
    project: Project,
    task: TaskId,
    version: str,
    comments: Sequence[NewComment],
    replaced: Sequence[Comment] = (),
) -> None:
    """Save comments on this version of the work, and delete those of `replaced` that are not among them.

    A comment that is saved already stays. Raises UsageError, and ReviewConflict for another version.
    """
    require_version(project.state(task), version, "the comments are not saved")
    saved, prefix = [take_content(one) for one in list_drafts(project, task)], uuid4().hex[:12]
    for number, one in enumerate(comments):
        if take_content(one) not in saved:
            place = PlaceChange(**asdict(one.place))
            save_draft(
                project,
                task,
                CommentChange(
                    id=f"cli-{prefix}-{number:03}",
                    kind=one.kind,
                    place=place,
                    text=one.text,
                    suggestion=one.suggestion,
                    commit=version,
                ),
            )
    wanted = [take_content(one) for one in comments]
    for old in replaced:
        if take_content(old) not in wanted:
            delete_draft(project, task, old.id)


def send_comments(
    project: Project,
    environ: Mapping[str, str],
    task: TaskId,
    new: NewReview,
    comments: Sequence[NewComment],
    replaced: Sequence[Comment] = (),
) -> Review:
    """Save the comments as `save_comments` does, and send all that are saved with the decision."""
    save_comments(project, task, new.commit or "", comments, replaced)
    return send_review(project, environ, task, new)
