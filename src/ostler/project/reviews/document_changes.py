"""The changes of a document since an earlier version of it, in the form of the changes of files."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher, unified_diff

from msgspec import Struct

from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.project.project import Project
from ostler.project.reviews.documents import (
    Document,
    NoDocument,
    find_judged_version,
    find_replaced,
    list_versions,
    read_current,
    read_version,
    require_kept,
)
from ostler.project.reviews.files import LONGEST_TEXT
from ostler.views.diff.changes import ChangedFile, Changes
from ostler.views.diff.line_map import Hunk, LineMap

_MODE = "100644"
_NO_END = "\\ No newline at end of file\n"


class DocumentSides(Struct, frozen=True):
    """Two versions of a document."""

    left: Document | None  # null: there was none
    right: Document
    uncommitted: bool  # a person changed it


def find_document_sides(project: Project, state: State, since: int) -> DocumentSides:
    """Return the document, and the file that it replaced, or the version of a review.

    Raises NoDocument, and CommitsGone.
    """
    require_kept(project, state.task)
    right = read_current(project, state)
    if not since:
        return DocumentSides(find_replaced(project, state), right, right.version != state.tree)
    review = project.journal.reviews.find(state.task, since)
    if review is None:
        raise NoDocument(f"{state.task} has no review {since}", f"ostler show {state.task}")
    left = find_judged_version(project, state, review)
    if left is None:
        raise NoDocument(
            f"the version of review {since} of {state.task} is not kept", f"ostler show {state.task}"
        )
    return DocumentSides(left, right, right.version != state.tree)


def view_document_changes(task: TaskId, sides: DocumentSides, since: int) -> Changes:
    """Return the document as the only changed file."""
    left, right = sides.left, sides.right
    additions, deletions = _count(map_versions(left, right))
    file = ChangedFile(
        path=right.path,
        old_path=right.path,
        status="modified" if left else "added",
        old_mode=_MODE if left else "",
        new_mode=_MODE,
        old_blob=left.blob if left else "",
        new_blob=right.blob,
        additions=additions,
        deletions=deletions,
        kind=right.kind,
        generated=False,
        old_size=len(left.data) if left else None,
        new_size=len(right.data),
        too_large=max(len(right.data), len(left.data) if left else 0) > LONGEST_TEXT,
    )
    is_same = left is not None and left.version == right.version
    return Changes(
        id=task,
        base=left.version if left else "",
        head=right.version,
        commit=None,
        uncommitted=sides.uncommitted,
        since=since,
        additions=additions,
        deletions=deletions,
        files=() if is_same else (file,),
    )


def make_document_patch(sides: DocumentSides) -> str:
    """Return the patch between the two versions, in the form of git."""
    left, right = sides.left, sides.right
    if left is not None and left.version == right.version:
        return ""
    old, new = f"a/{right.path}", f"b/{right.path}"
    head = [f"diff --git {old} {new}\n"]
    head += [] if left else [f"new file mode {_MODE}\n"]
    head += [f"index {left.blob if left else '0' * 40}..{right.blob}{f' {_MODE}' if left else ''}\n"]
    if "binary" in (right.kind, left.kind if left else right.kind):
        return "".join([*head, f"Binary files {old if left else '/dev/null'} and {new} differ\n"])
    lines = unified_diff(
        _split(left.text) if left else [], _split(right.text), old if left else "/dev/null", new, n=3
    )
    return "".join([*head, *(line if line.endswith("\n") else f"{line}\n{_NO_END}" for line in lines)])


def find_document(project: Project, state: State, blob: str) -> Document | None:
    """Return the version of the document whose content has this id."""
    return next((one for one in _list_documents(project, state) if one.blob == blob), None)


def map_versions(left: Document | None, right: Document) -> LineMap:
    """Return the lines of two versions."""
    old, new = left.lines if left else [], right.lines
    changed = SequenceMatcher(None, old, new).get_opcodes()
    hunks = [Hunk(a + (b > a), b - a, c + (d > c), d - c) for tag, a, b, c, d in changed if tag != "equal"]
    return LineMap(old, new, hunks)


def _list_documents(project: Project, state: State) -> Iterator[Document]:
    yield read_current(project, state)
    replaced = find_replaced(project, state)
    if replaced is not None:
        yield replaced
    for one in list_versions(project, state):
        found = read_version(project, state, one.version)
        if found is not None:
            yield found


def _count(lines: LineMap) -> tuple[int, int]:
    return sum(one.new_count for one in lines.hunks), sum(one.old_count for one in lines.hunks)


def _split(text: str) -> list[str]:
    """Return the lines with their ends, as git counts them."""
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), *filter(None, [rest])]
