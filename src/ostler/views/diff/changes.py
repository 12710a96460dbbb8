"""The files that a task changed, as they are shown for a review."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

FileStatus = Literal["added", "modified", "deleted", "renamed", "copied", "type_changed"]
FileKind = Literal["text", "markdown", "image", "binary", "submodule", "lfs", "symlink"]

DocumentKind = Literal["markdown", "text", "binary"]


class ChangedFile(Struct, frozen=True, kw_only=True):
    """One file of a change."""

    path: str
    old_path: str
    status: FileStatus
    old_mode: str  # of git; empty: the file is new
    new_mode: str
    old_blob: str
    new_blob: str
    additions: int
    deletions: int
    kind: FileKind
    generated: bool  # by a tool: lock files, minified files, snapshots
    old_size: int | None  # in bytes; null: there is no such file
    new_size: int | None
    too_large: bool  # its whole text is not available


class Changes(Struct, frozen=True, kw_only=True):
    """What a task changed, or what it changed since a review."""

    schema: str = "ostler.changes/1"
    id: str
    base: str  # left side: a commit or a tree; empty: a document
    head: str  # right side: a commit, or a tree if there are uncommitted changes
    commit: str | None  # judged by a review of this change; null: uncommitted changes, or a document
    uncommitted: bool
    since: int = 0  # number of the review whose judged commit is the left side
    conflict: bool = False  # the left side has conflicts with the new base
    note: str = ""  # a sentence about the comparison, such as why it has other people's changes
    additions: int
    deletions: int
    files: tuple[ChangedFile, ...]
    truncated: bool = False  # there are more files


class Patch(Struct, frozen=True, kw_only=True):
    """The changes of one file, or of all."""

    schema: str = "ostler.patch/1"
    id: str
    patch: str  # unified, without secrets
    truncated: bool


class Blob(Struct, frozen=True, kw_only=True):
    """The text of a file at one side of a comparison."""

    schema: str = "ostler.blob/1"
    oid: str
    size: int  # in bytes
    text: str  # without secrets
    truncated: bool


class DocumentVersion(Struct, frozen=True):
    """A version that the task has written."""

    version: str
    at: float


class DocumentView(Struct, frozen=True, kw_only=True):
    """The document of a task, as it is now or as it was."""

    schema: str = "ostler.document/1"
    id: str
    path: str  # relative to the project
    text: str  # without secrets; empty: a binary document
    kind: DocumentKind
    size: int  # in bytes
    truncated: bool
    version: str  # changes with the content
    versions: tuple[DocumentVersion, ...]  # that the task has written and that are kept, the oldest first
