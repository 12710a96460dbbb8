"""A document under review can be read, compared with earlier versions, and commented on by line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from document_world import DocumentWorld, writing
from ostler.errors import UsageError
from ostler.files.document_versions import compute_version
from ostler.model.ids import TaskId
from ostler.model.review import Comment, Place, Review
from ostler.project.project import Project
from ostler.project.reviews.changes import read_changes_patch, view_blob, view_changes
from ostler.project.reviews.excerpts import read_lines
from ostler.project.reviews.mapping import map_comments
from ostler.web.guard import Keys
from ostler.web.requests import DocumentQuery
from ostler.web.responses import RequestError
from ostler.web.route import Empty, RequestParts
from ostler.web.routes.changes import get_document, show_document
from ostler.web.site import Site


@pytest.fixture
def world(tmp_path: Path) -> Iterator[DocumentWorld]:
    world = DocumentWorld(tmp_path)
    yield world
    world.close()


@pytest.fixture
def project(world: DocumentWorld) -> Iterator[Project]:
    with Project.open(world.root, world.environ, create=True) as project:
        yield project


def write_first(world: DocumentWorld, *args: str) -> TaskId:
    task = world.new("Sell hay", "--skill", "copy", "--review", "human", *args)
    world.ostler("run", task, code=4)
    return TaskId(task)


def ask(project: Project, handler: Any, task: str, query: object = None) -> Any:
    site = Site(project, "http://127.0.0.1:1", Keys(1), {}, runs_tasks=False)
    try:
        return handler(site, project, RequestParts({"task": task}, query or DocumentQuery(), Empty()))
    finally:
        site.close()


def send_back(world: DocumentWorld, project: Project, task: TaskId, *comments: Comment) -> Review:
    """Store a review of the present version, and let the task write the next one."""
    number = project.journal.reviews.next_number(task)
    review = Review(
        number=number, at=time.time(), by="ada", verdict="changes", commit=None, base=None, comments=comments
    )
    with project.journal.transaction():
        project.journal.reviews.add(task, review)
    world.ostler("reject", task, "-m", "Name the price.")
    world.ostler("run", task, code=4)
    return review


def test_a_document_and_its_versions(world: DocumentWorld, project: Project) -> None:
    """The text of the current one or of an earlier one, and what changed since a review."""
    with writing(world):
        task = write_first(world)
        first = ask(project, show_document, task)
        assert (first.kind, first.truncated, first.path) == (
            "markdown",
            False,
            f"outputs/creative/copy/{task}.md",
        )
        assert first.text.endswith("draft 1.") and first.size == len(first.text)
        added = view_changes(project, task, 0)
        assert [(one.path, one.status, one.kind, one.additions) for one in added.files] == [
            (first.path, "added", "markdown", 3)
        ]
        comment = Comment(id="c", text="Which one?", place=Place(first.path, "document", 3, 3))
        excerpt = read_lines(project, task, comment.place, first.version)
        assert (excerpt.before, excerpt.excerpt) == (("# Sell hay", ""), (first.text.splitlines()[2],))
        review = send_back(world, project, task, comment)
    second = ask(project, show_document, task)
    assert [one.version for one in second.versions] == [first.version, second.version]
    assert ask(project, show_document, task, DocumentQuery(version=first.version)).text == first.text
    changes = view_changes(project, task, 1)
    assert (changes.base, changes.head, changes.uncommitted) == (first.version, second.version, False)
    (file,) = changes.files
    assert (file.status, file.additions, file.deletions) == ("modified", 1, 1)
    patch = read_changes_patch(project, task, 1, "").patch
    assert "draft 1.\n\\ No newline at end of file\n+" in patch and "index " in patch
    assert view_blob(project, task, file.old_blob).text == first.text
    (mapped,) = map_comments(project, task, review)
    assert (mapped.state, mapped.place) == ("probably_changed", Place(first.path, "document", 3, 3))
    assert [line[:1] for line in mapped.since] == ["-", "+"]


def test_the_replaced_file_is_the_left_side(world: DocumentWorld, project: Project) -> None:
    """A change by a person is uncommitted, as in a worktree."""
    (world.root / "docs").mkdir()
    (world.root / "docs/notes.md").write_text("mine\n")
    with writing(world):
        task = write_first(world, "--output", "docs/notes.md")
    changes = view_changes(project, task, 0)
    assert (changes.base, changes.uncommitted) == (compute_version(b"mine\n"), False)
    assert "-mine\n" in read_changes_patch(project, task, 0, "").patch
    (world.root / "docs/notes.md").write_text("mine\n")
    changes = view_changes(project, task, 0)
    assert (changes.files, changes.uncommitted) == ((), True)


def test_a_binary_document_is_a_download(world: DocumentWorld, project: Project) -> None:
    """Its size is shown instead of its text."""
    with writing(world):
        task = write_first(world)
    path = world.root / ask(project, show_document, task).path
    path.write_bytes(b"PK\3\4\0\0" * 100)
    found = ask(project, show_document, task)
    assert (found.kind, found.size, found.text) == ("binary", 600, "")
    assert "Binary files" in read_changes_patch(project, task, 0, "").patch
    with pytest.raises(UsageError, match="is not a text"):
        read_lines(project, task, Place(found.path, "document", 1, 1), found.version)
    attachment = ask(project, get_document, task, Empty())
    with attachment.file:
        assert (attachment.name, attachment.file.read()) == (path.name, path.read_bytes())


def test_tasks_without_a_document(world: DocumentWorld, project: Project) -> None:
    """One sentence each: another kind of task, not written yet, deleted, purged."""
    with writing(world):
        task = write_first(world)
    code, waiting = world.new("Code"), world.new("Text", "--skill", "copy")
    path = world.root / ask(project, show_document, task).path
    for one, reason in ((code, "writes no document"), (waiting, "has not written its document yet")):
        assert_refused(project, one, reason)
    path.unlink()
    assert_refused(project, task, "is missing")
    world.ostler("cancel", task)
    world.ostler("purge", task, "--yes")
    assert_refused(project, task, "was purged at")


def assert_refused(project: Project, task: str, reason: str) -> None:
    with pytest.raises(RequestError, match=reason) as caught:
        ask(project, show_document, task)
    assert caught.value.status == 404
