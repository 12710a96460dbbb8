"""The lines that a comment is about, and those around them."""

from __future__ import annotations

import re

from msgspec import Struct

from ostler.errors import UsageError
from ostler.git.compare.blobs import find_entry
from ostler.git.refs import has_object
from ostler.git.repository import Repository
from ostler.model.ids import TaskId
from ostler.model.review import Place
from ostler.project.cluster.commits import fetch_task
from ostler.project.project import Project
from ostler.project.reviews.documents import read_current
from ostler.project.reviews.ends import Ends, find_base, reading
from ostler.project.reviews.texts import read_texts

_AROUND = 3  # lines before and after
_MOST_LINES = 500
_OBJECT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class Excerpt(Struct, frozen=True):
    excerpt: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    blob: str = ""  # object id of the file; empty: a comment on the whole work


def read_lines(project: Project, task: TaskId, place: Place, commit: str) -> Excerpt:
    """Return the lines of a place, in a commit or tree of the task, without secrets.

    Lines on the old side are those of the task's base. Raises UsageError if there are no such lines.
    """
    if not place.path:
        return Excerpt()
    state = project.state(task)
    if state.plan.is_document:
        document = read_current(project, state)
        lines = None if document.kind == "binary" else document.lines
        return cut_excerpt((document.blob, lines), place)
    if not commit:
        raise UsageError(f"{task} has no commit yet, so it has no lines", "comment on the whole work")
    if not _OBJECT.fullmatch(commit):
        raise UsageError(f"{commit[:80]!r} is not the id of a commit", "reload the review")
    _, repository, base = find_base(project, task)
    if not has_object(repository, commit):
        fetch_task(project, task, commit)
    ends = Ends(repository, base, commit, uncommitted=False)
    with reading(ends, task):
        return cut_excerpt(_read_file(repository, base if place.side == "old" else commit, place.path), place)


def cut_excerpt(file: tuple[str, list[str] | None], place: Place) -> Excerpt:
    """Return the lines of a place of a file, given by its blob and its lines. Raises UsageError."""
    blob, lines = file
    if not place.line:
        return Excerpt(blob=blob)
    if lines is None:
        raise UsageError(f"{place.path} is not a text of at most 2 MiB", "comment on the whole file: line 0")
    first, last = place.line, place.end_line or place.line
    if not 1 <= first <= last <= len(lines):
        where = f"line {first}" if first == last else f"lines {first} to {last}"
        count = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
        raise UsageError(f"{place.path} has no {where}: it has {count}", "name lines that it has")
    return Excerpt(
        excerpt=tuple(lines[first - 1 : last][:_MOST_LINES]),
        before=tuple(lines[max(0, first - 1 - _AROUND) : first - 1]),
        after=tuple(lines[last : last + _AROUND]),
        blob=blob,
    )


def _read_file(repository: Repository, version: str, path: str) -> tuple[str, list[str] | None]:
    blob = find_entry(repository, version, path)
    if not blob:
        raise UsageError(f"there is no file {path!r} in {version:.10}", "name a file of the work")
    return blob, read_texts(repository, (blob,)).get(blob)
