"""The changes of a task for a review: its files, patches and blobs."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import UsageError
from ostler.git.compare.blobs import find_objects, read_blob
from ostler.git.compare.patch import read_comparison_patch
from ostler.git.repository import Repository
from ostler.model.ids import TaskId
from ostler.model.review import Review
from ostler.model.state import State
from ostler.project.project import Project
from ostler.project.reviews.document_changes import (
    find_document,
    find_document_sides,
    make_document_patch,
    view_document_changes,
)
from ostler.project.reviews.ends import (
    CommitsGone,
    Ends,
    find_ends,
    reading,
    recall_ends,
    remember_ends,
)
from ostler.project.reviews.files import LONGEST_TEXT, Comparison, compare
from ostler.project.reviews.judged import find_judged
from ostler.secrets.redact import redact_lines
from ostler.views.diff.changes import Blob, Changes, Patch

LONGEST_PATCH = 4 * 1024 * 1024
_MOST_FILES = 10_000


class NotInChanges(UsageError):
    """The changes of the task have no such file or blob."""


class Sides(Struct, frozen=True):
    """What is compared: the work of the task with its base, or with the work of an earlier review."""

    ends: Ends
    left: str  # commit or tree
    conflict: bool = False
    note: str = ""

    def compare(self, task: TaskId) -> Comparison:
        with reading(self.ends, task):
            return compare(self.ends.repository, self.left, self.ends.head, self.ends.base)


def view_changes(project: Project, task: TaskId, since: int) -> Changes:
    """Return the changed files. Raises UsageError, and CommitsGone."""
    state = project.state(task)
    if state.plan.is_document:
        return view_document_changes(task, find_document_sides(project, state, since), since)
    sides = find_sides(project, task, since)
    ends, found = sides.ends, sides.compare(task)
    remember_ends(project, state, ends)
    return Changes(
        id=task,
        base=sides.left,
        head=ends.head,
        commit=None if ends.uncommitted else ends.head,
        uncommitted=ends.uncommitted,
        since=since,
        conflict=sides.conflict,
        note=sides.note,
        additions=sum(file.additions for file in found.files),
        deletions=sum(file.deletions for file in found.files),
        files=found.files[:_MOST_FILES],
        truncated=len(found.files) > _MOST_FILES,
    )


def read_changes_patch(project: Project, task: TaskId, since: int, path: str, head: str = "") -> Patch:
    """Return the patch of one file, or of all with an empty path; `head` is that of the list of changes.

    Raises UsageError, and CommitsGone.
    """
    state = project.state(task)
    if state.plan.is_document:
        patch = make_document_patch(find_document_sides(project, state, since))
        return Patch(id=task, patch=patch, truncated=False)
    shown = recall_ends(project, state, head) if head else None
    sides, paths = find_sides(project, task, since, shown), ()
    if path:
        deltas = sides.compare(task).find(path)
        if not deltas:
            raise NotInChanges(f"the changes of {task} have no file {path!r}", "see the list of changes")
        paths = tuple(dict.fromkeys(name for one in deltas for name in (one.old_path, one.path)))
    with reading(sides.ends, task):
        found = read_comparison_patch(
            sides.ends.repository, sides.left, sides.ends.head, paths, LONGEST_PATCH
        )
    data = _cut_last_line(found.data) if found.truncated else found.data
    return Patch(
        id=task, patch=redact_lines(data, margin=1).decode("utf-8", "replace"), truncated=found.truncated
    )


def view_blob(project: Project, task: TaskId, blob: str) -> Blob:
    """Return the text of a blob of the changes. Raises NotInChanges."""
    state = project.state(task)
    if state.plan.is_document:
        return _view_version(project, state, blob)
    repository, size = require_blob(project, task, blob)
    data = read_blob(repository, blob, LONGEST_TEXT)
    is_long = size > LONGEST_TEXT
    text = redact_lines(_cut_last_line(data) if is_long else data).decode("utf-8", "replace")
    return Blob(oid=blob, size=size, text=text, truncated=is_long)


def _view_version(project: Project, state: State, blob: str) -> Blob:
    found = find_document(project, state, blob)
    if found is None:
        raise NotInChanges(f"the document of {state.task} has no version {blob:.10}", "reload the document")
    size = len(found.data)
    return Blob(oid=blob, size=size, text=found.text, truncated=size > LONGEST_TEXT)


def require_blob(project: Project, task: TaskId, blob: str) -> tuple[Repository, int]:
    """Return the repository and the size of a blob of the task's changes, or of its reviews.

    Raises NotInChanges, UsageError and CommitsGone.
    """
    shown = recall_ends(project, project.state(task))
    if shown is not None and (size := _find_size(project, task, blob, shown)) is not None:
        return shown.repository, size
    ends = find_ends(project, task)
    if (size := _find_size(project, task, blob, ends)) is not None:
        return ends.repository, size
    raise NotInChanges(f"the changes of {task} have no blob {blob:.10}", "reload the changes")


def _find_size(project: Project, task: TaskId, blob: str, ends: Ends) -> int | None:
    """Return the size of a blob; None if no comparison with this work has it."""
    if not any(sides.compare(task).has_blob(blob) for sides in _list_sides(project, task, ends)):
        return None
    return find_objects(ends.repository, (blob,)).sizes.get(blob)


def find_sides(project: Project, task: TaskId, since: int, shown: Ends | None = None) -> Sides:
    """Return what is compared. Raises NotInChanges, UsageError, and CommitsGone."""
    ends = shown or find_ends(project, task)
    if not since:
        return Sides(ends, ends.base)
    review = project.journal.reviews.find(task, since)
    if review is None:
        raise NotInChanges(
            f"{task} has no review {since}", f"ostler review {task} --show   lists its reviews"
        )
    return find_sides_since(project, task, review, ends)


def find_sides_since(project: Project, task: TaskId, review: Review, ends: Ends) -> Sides:
    """Return what the agent changed since a review, without what others changed below its work."""
    with reading(ends, task):
        judged = find_judged(project, task, review, ends)
    if judged is None:
        raise NotInChanges(f"review {review.number} of {task} has no commit", f"ostler show {task}")
    return Sides(ends, judged.tree, judged.conflict, judged.note)


def _list_sides(project: Project, task: TaskId, ends: Ends) -> Iterator[Sides]:
    """Yield every comparison that a page can show, the latest first; reviews without commits are left out."""
    yield Sides(ends, ends.base)
    for review in reversed(project.journal.reviews.list(task)):
        if review.commit is None:
            continue
        try:
            yield find_sides_since(project, task, review, ends)
        except CommitsGone:
            continue
        if review.base:
            yield Sides(replace(ends, base=review.base, head=review.commit), review.base)


def _cut_last_line(data: bytes) -> bytes:
    """Return the whole lines of a text that was cut."""
    return data[: data.rfind(b"\n") + 1] or data
