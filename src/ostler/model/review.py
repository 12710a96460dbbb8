"""A person's review of a task's work: comments on lines, sent to the agent as one bundle."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

CommentKind = Literal["change", "question", "remark"]
Side = Literal["old", "new", "document"]
"""Which text a comment is about: the base, the judged commit, or the document that the task wrote."""
ReviewVerdict = Literal["approve", "changes"]


Via = Literal["", "mcp"]
"""The program that wrote for a person: an MCP client, or none."""


class Place(Struct, frozen=True):
    """The lines that a comment is about; without a path it is about the whole work."""

    path: str = ""
    side: Side = "new"
    line: int = 0  # the first one, from 1; 0: the whole file
    end_line: int = 0  # the last one


class Comment(Struct, frozen=True, kw_only=True):
    """A comment of a person."""

    id: str  # made by the client, so that a repeated request adds nothing
    kind: CommentKind = "change"
    place: Place = Place()
    text: str
    suggestion: str | None = None  # replaces the lines; null: none, empty: delete them
    excerpt: tuple[str, ...] = ()  # the lines themselves
    before: tuple[str, ...] = ()  # up to three lines before them
    after: tuple[str, ...] = ()  # up to three lines after them
    blob: str = ""  # object id of the file that has the lines
    commit: str = ""  # that the person looked at
    via: Via = ""
    at: float = 0.0


class Review(Struct, frozen=True, kw_only=True):
    """A review that was sent; its comments do not change any more."""

    number: int  # 1, 2, 3, ... per task
    at: float
    by: str  # person
    verdict: ReviewVerdict
    commit: str | None  # the judged commit; null: a document
    base: str | None  # the base of the task at that moment
    text: str = ""  # about the whole work
    via: Via = ""
    comments: tuple[Comment, ...] = ()

    @property
    def author(self) -> str:
        return name_author(self.by, self.via)


def name_author(by: str, via: Via) -> str:
    """Return the person, and the program that wrote for the person."""
    return f"{by} through MCP" if via else by


CommentState = Literal["unchanged", "changed", "probably_changed", "moved", "deleted", "unknown"]


class MappedComment(Struct, frozen=True):
    """Where the lines of a comment are now, and what has become of them since its review."""

    id: str
    state: CommentState
    place: Place | None = None  # in the current work; null: the lines are gone
    since: tuple[str, ...] = ()  # lines of the changes there, each with its sign: " ", "-" or "+"


ReplyStatus = Literal["changed", "answered", "declined"]


class Reply(Struct, frozen=True):
    """What the agent answered to a comment; whether something changed is decided by git."""

    comment: int  # its number in the bundle, from 1
    status: ReplyStatus
    where: str = ""
    text: str = ""
