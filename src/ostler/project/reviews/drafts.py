"""Comments of a person that are not sent yet."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.review import Comment, CommentKind, Place, Via
from ostler.project.decisions.dispose import require_files
from ostler.project.person import read_user_name
from ostler.project.project import Project
from ostler.project.reviews.allowed import find_version, require_version
from ostler.project.reviews.excerpts import Excerpt, read_lines

_WITHOUT_CONTROLS = dict.fromkeys(range(1, 32), "_")
MAX_TEXT_BYTES = 20_000
MAX_COMMENTS = 500
_MAX_PATH = 4096
_MAX_LINE = 10_000_000

Id = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.:-]{1,100}$", description="Made by the client.")]
_Commit = Annotated[str, Meta(pattern=r"^[0-9a-f]{0,64}$")]
_Line = Annotated[int, Meta(ge=0, le=_MAX_LINE)]


class PlaceChange(Place, frozen=True, forbid_unknown_fields=True):
    """The lines that a comment is about, as a client sends them."""

    path: Annotated[str, Meta(max_length=_MAX_PATH)] = ""
    line: _Line = 0
    end_line: _Line = 0


class CommentChange(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new comment, or the new values of one that is not sent."""

    id: Id
    kind: CommentKind = "change"
    place: PlaceChange = PlaceChange()
    text: str = ""
    suggestion: str | None = None
    commit: _Commit | None = None
    """That the page shows; null: a document, work without git, or for the whole work the present one."""


def save_draft(project: Project, task: TaskId, change: CommentChange, via: Via = "") -> None:
    """Create or replace a comment; repeating it changes nothing. Raises UsageError for an invalid one."""
    project.require_person("review tasks")
    state, person = project.state(task), read_user_name()
    require_files(state, "reviewed")
    _require_valid(change)
    reviews = project.journal.reviews
    before = next((one for one in reviews.drafts(task, person) if one.id == change.id), None)
    shown = change.commit or ""
    if change.commit is None and not change.place.path:
        shown = find_version(state)
    if before is None or before.commit != shown:
        require_version(state, shown, "the comment is not saved")
    place = Place(change.place.path, change.place.side, change.place.line, change.place.end_line)
    if before is not None and (before.place, before.commit) == (place, shown):
        lines = Excerpt(before.excerpt, before.before, before.after, before.blob)
    else:
        lines = _read_lines(project, task, place, shown)
    comment = Comment(
        id=change.id,
        kind=change.kind,
        place=place,
        text=change.text,
        suggestion=change.suggestion,
        excerpt=lines.excerpt,
        before=lines.before,
        after=lines.after,
        blob=lines.blob,
        commit=shown,
        at=before.at if before else project.now(),
        via=via,
    )
    if not reviews.save_draft(task, person, comment, MAX_COMMENTS):
        raise UsageError(f"a review has at most {MAX_COMMENTS} comments", "send these first")


def _read_lines(project: Project, task: TaskId, place: Place, commit: str) -> Excerpt:
    """Return the lines of a comment; none without git, where no version of a file is kept."""
    state = project.state(task)
    if not state.plan.is_document and (state.branch is None or state.base is None):
        return Excerpt()
    return read_lines(project, task, place, commit)


def delete_draft(project: Project, task: TaskId, comment: str) -> None:
    """Delete a comment that is not sent, if there is one."""
    project.require_person("review tasks")
    project.journal.reviews.delete_draft(task, read_user_name(), comment)


def mark_resolved(project: Project, task: TaskId, comment: str, *, resolved: bool) -> None:
    """Mark a sent comment as resolved, or remove the mark; raises UsageError if there is no such comment."""
    project.require_person("review tasks")
    reviews = project.journal.reviews
    if not any(comment == one.id for review in reviews.list(task) for one in review.comments):
        raise UsageError(f"{task} has no sent comment {comment!r:.120}", f"ostler show {task}")
    reviews.mark_resolved(task, comment, read_user_name(), project.now(), resolved=resolved)


def mark_viewed(project: Project, task: TaskId, path: str, blob: str, *, viewed: bool) -> None:
    """Mark a file as viewed by this person, or remove the mark."""
    project.require_person("review tasks")
    _require_path(path.translate(_WITHOUT_CONTROLS))  # git allows them, and the mark is in no prompt
    require_files(project.state(task), "reviewed")
    reviews = project.journal.reviews
    reviews.mark_viewed(task, read_user_name(), path, blob, project.now(), viewed=viewed)


def require_text(text: str, what: str) -> None:
    """Raise UsageError for a text that is too long."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT_BYTES:
        raise UsageError(
            f"{what} has {size:,} bytes; at most {MAX_TEXT_BYTES:,} are allowed",
            "shorten it",
        )


def _require_valid(change: CommentChange) -> None:
    place = change.place
    require_text(change.text, "the comment")
    require_text(change.suggestion or "", "the suggestion")
    _require_path(place.path)
    if not change.text.strip() and change.suggestion is None:
        raise UsageError("the comment is empty", "write a text or a suggestion")
    if place.line and not place.path:
        raise UsageError("lines without a file", "name the file too")
    if place.end_line < place.line or (place.end_line and not place.line):
        raise UsageError(
            f"invalid lines {place.line} to {place.end_line}", "name the first and the last line, from 1"
        )
    if change.suggestion is not None and (not place.line or place.side == "old"):
        raise UsageError("a suggestion replaces lines of the new version", "name them, or write a text")


def _require_path(path: str) -> None:
    if path.startswith("/") or any(ord(letter) < 32 for letter in path) or ".." in path.split("/"):
        raise UsageError(f"invalid path {path!r:.120}", "use the path of a file of the task")
