"""The document of a task, and its earlier versions."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath

from msgspec import Struct

from ostler.engine.steps.agent_call.provided_files import LARGEST_FILE
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.beneath import read_beneath
from ostler.files.document_versions import compute_version, name_version
from ostler.model.event import CheckpointMade
from ostler.model.ids import TaskId
from ostler.model.review import Review
from ostler.model.state import State
from ostler.project.artifacts.files import open_file
from ostler.project.artifacts.task_folder import find_file_folder
from ostler.project.decisions.dispose import describe_purged
from ostler.project.project import Project
from ostler.project.reviews.ends import CommitsGone
from ostler.project.reviews.files import LONGEST_TEXT, is_markdown
from ostler.project.reviews.texts import split_text
from ostler.secrets.redact import redact_lines
from ostler.views.diff.changes import DocumentKind, DocumentVersion, DocumentView

_LOOKS_BINARY = 8000  # bytes that are searched for a zero byte, as git does


class Document(Struct, frozen=True):
    """The content of one version."""

    path: str  # relative to the project
    version: str
    data: bytes

    @property
    def blob(self) -> str:
        """The id that git would give the content."""
        head = b"blob %d\0" % len(self.data)
        return hashlib.sha1(head + self.data, usedforsecurity=False).hexdigest()

    @property
    def kind(self) -> DocumentKind:
        if b"\0" in self.data[:_LOOKS_BINARY]:
            return "binary"
        return "markdown" if is_markdown(self.path) else "text"

    @property
    def text(self) -> str:
        """The text without secrets; empty for a binary document."""
        if self.kind == "binary":
            return ""
        return redact_lines(self.data[:LONGEST_TEXT]).decode("utf-8", "replace")

    @property
    def lines(self) -> list[str]:
        return split_text(self.text)


class NoDocument(UsageError):
    """The task has no document, or not this version of it."""


def view_document(project: Project, task: TaskId, version: str = "") -> DocumentView:
    """Return the document, or an earlier version of it. Raises NoDocument, and CommitsGone if purged."""
    state = require_kept(project, task)
    found = _require(read_version(project, state, version), task) if version else read_current(project, state)
    return DocumentView(
        id=task,
        path=found.path,
        text=found.text,
        kind=found.kind,
        size=len(found.data),
        truncated=len(found.data) > LONGEST_TEXT and found.kind != "binary",
        version=found.version,
        versions=list_versions(project, state),
    )


def require_kept(project: Project, task: TaskId) -> State:
    """Return the state of a task whose files are not deleted. Raises CommitsGone."""
    state = project.state(task)
    if state.purged_at is not None:
        raise CommitsGone(f"{describe_purged(state)}: its versions are deleted", f"ostler show {task}")
    return state


def read_current(project: Project, state: State) -> Document:
    """Return the document as it is now; a person may have changed it."""
    path = require_path(project, state)
    try:
        data = read_beneath(project.layout.root, path, LARGEST_FILE)
    except OstlerError as error:
        if error.code is not Code.INPUT_NOT_FOUND:
            raise
        raise NoDocument(
            f"the document {path} of {state.task} is missing", f"ostler show {state.task}"
        ) from None
    return Document(path, compute_version(data), data)


def require_path(project: Project, state: State) -> str:
    """Return the path of the document, relative to the project. Raises NoDocument."""
    if not state.plan.is_document:
        raise NoDocument(f"{state.task} writes no document", f"ostler diff {state.task}   shows its changes")
    if state.output is None:
        raise NoDocument(f"{state.task} has not written its document yet", f"ostler show {state.task}")
    return state.output


def read_version(project: Project, state: State, version: str) -> Document | None:
    """Return a version that the task has written, or the current one; None if it is not kept."""
    current = read_current(project, state)
    if version == current.version:
        return current
    return _read_kept(project, state, name_version(version, current.path), version)


def find_replaced(project: Project, state: State) -> Document | None:
    """Return the file that was at the document's path before the task wrote it; None without one."""
    suffix = PurePosixPath(require_path(project, state)).suffix
    return _read_kept(project, state, f"replaced{suffix}", "")


def find_judged_version(project: Project, state: State, review: Review) -> Document | None:
    """Return the version that a review is about: the last one before it; None if it is not kept."""
    written = [one for one in _list_written(project, state) if one.at <= review.at]
    return read_version(project, state, written[-1].version) if written else None


def list_versions(project: Project, state: State) -> tuple[DocumentVersion, ...]:
    """Return the kept versions that the task has written, the oldest first."""
    found = {one.version: one for one in _list_written(project, state)}
    kept = (one for one in found.values() if read_version(project, state, one.version))
    return tuple(sorted(kept, key=lambda one: one.at))


def _list_written(project: Project, state: State) -> list[DocumentVersion]:
    """Return every version that the task has written, in order; one may occur twice."""
    events = ((record.at, record.event) for record in project.journal.read(state.task))
    return [
        DocumentVersion(event.tree, at)
        for at, event in events
        if isinstance(event, CheckpointMade) and event.output and event.tree
    ]


def _read_kept(project: Project, state: State, name: str, version: str) -> Document | None:
    """Return a file of the task's directory, which may be a copy of that of another machine."""
    file = open_file(find_file_folder(project, state.task, name), name)
    if file is None:
        return None
    with file:
        data = file.read(LARGEST_FILE)
    return Document(require_path(project, state), version or compute_version(data), data)


def _require(found: Document | None, task: TaskId) -> Document:
    if found is None:
        raise NoDocument(f"this version of the document of {task} is not kept", "reload the document")
    return found
