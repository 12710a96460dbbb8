"""Reviews of people: drafts, sent reviews, and marks on comments and files; for one thread."""

from __future__ import annotations

from typing import Any, Self

import msgspec

from ostler.model.ids import TaskId
from ostler.model.review import Comment, Review
from ostler.secrets.redact import redact_bytes
from ostler.store.database import Database
from ostler.store.repeat import repeated

_SELECT_REVIEWS = "SELECT body FROM review WHERE task = $1 ORDER BY number"
_SELECT_REVIEW = "SELECT body FROM review WHERE task = $1 AND number = $2"
_SELECT_LAST = "SELECT coalesce(max(number), 0) FROM review WHERE task = $1"
_SELECT_REQUEST = "SELECT body FROM review WHERE task = $1 AND request = $2"
_INSERT_REVIEW = "INSERT INTO review (task, number, at, request, body) VALUES ($1, $2, $3, $4, $5)"
_SELECT_DRAFTS = "SELECT body FROM review_draft WHERE task = $1 AND person = $2 ORDER BY at, id"
_SELECT_DRAFT_IDS = "SELECT id FROM review_draft WHERE task = $1 AND person = $2"
# The order of comments stays when one of them is edited.
_UPSERT_DRAFT = """
    INSERT INTO review_draft (task, person, id, at, body) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (task, person, id) DO UPDATE SET body = excluded.body"""
_DELETE_DRAFT = "DELETE FROM review_draft WHERE task = $1 AND person = $2 AND id = $3"
_SELECT_RESOLVED = "SELECT comment FROM review_resolved WHERE task = $1"
_INSERT_RESOLVED = """
    INSERT INTO review_resolved (task, comment, person, at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"""
_DELETE_RESOLVED = "DELETE FROM review_resolved WHERE task = $1 AND comment = $2"
_SELECT_VIEWED = "SELECT path, blob FROM review_viewed WHERE task = $1 AND person = $2 ORDER BY path"
_INSERT_VIEWED = "INSERT INTO review_viewed (task, person, path, blob, at) VALUES ($1, $2, $3, $4, $5)"
_DELETE_VIEWED = "DELETE FROM review_viewed WHERE task = $1 AND person = $2 AND path = $3"
_DELETE_ALL = (
    "DELETE FROM review WHERE task = $1",
    "DELETE FROM review_draft WHERE task = $1",
    "DELETE FROM review_resolved WHERE task = $1",
    "DELETE FROM review_viewed WHERE task = $1",
)

_encode = msgspec.json.Encoder().encode
_decode_comment = msgspec.json.Decoder(Comment).decode
_decode_review = msgspec.json.Decoder(Review).decode


class Reviews:
    """All processes of a project can open it at the same time. A write that returned is durable."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._db.close()

    # Sent reviews

    def list(self, task: TaskId) -> tuple[Review, ...]:
        """Return the reviews of a task, the oldest first."""
        return tuple(_decode_review(body) for (body,) in self._db.query(_SELECT_REVIEWS, task))

    def find(self, task: TaskId, number: int) -> Review | None:
        """Return a review by its number; None if there is none."""
        return _first_review(self._db.query(_SELECT_REVIEW, task, number))

    def find_request(self, task: TaskId, request: str) -> Review | None:
        """Return the review that a client has already sent with this id."""
        return _first_review(self._db.query(_SELECT_REQUEST, task, request)) if request else None

    def next_number(self, task: TaskId) -> int:
        """Return the number of the next review of a task."""
        return int(self._db.query(_SELECT_LAST, task)[0][0]) + 1

    def add(self, task: TaskId, review: Review, request: str = "") -> None:
        """Add a review and delete its comments from the drafts of its person, in the open transaction."""
        body = redact_bytes(_encode(review))
        self._db.run(_INSERT_REVIEW, task, review.number, review.at, request, body)
        for comment in review.comments:
            self._db.run(_DELETE_DRAFT, task, review.by, comment.id)

    # Drafts

    def drafts(self, task: TaskId, person: str) -> tuple[Comment, ...]:
        """Return the comments of a person that are not sent yet, in the order of their creation."""
        return tuple(_decode_comment(body) for (body,) in self._db.query(_SELECT_DRAFTS, task, person))

    @repeated
    def save_draft(self, task: TaskId, person: str, comment: Comment, limit: int) -> bool:
        """Create or replace a draft; return False, and write nothing, if the person has `limit` others.

        A comment that was sent does not change any more: it is no draft again.
        """
        with self._db.transaction():
            if any(comment.id == one.id for review in self.list(task) for one in review.comments):
                return True
            others = {found for (found,) in self._db.query(_SELECT_DRAFT_IDS, task, person)} - {comment.id}
            if len(others) >= limit:
                return False
            body = redact_bytes(_encode(comment))
            self._db.run(_UPSERT_DRAFT, task, person, comment.id, comment.at, body)
            return True

    @repeated
    def delete_draft(self, task: TaskId, person: str, comment: str) -> None:
        """Delete a draft, if there is one."""
        with self._db.transaction():
            self._db.run(_DELETE_DRAFT, task, person, comment)

    # Marks

    def resolved(self, task: TaskId) -> frozenset[str]:
        """Return the ids of the comments that are resolved."""
        return frozenset(str(comment) for (comment,) in self._db.query(_SELECT_RESOLVED, task))

    @repeated
    def mark_resolved(self, task: TaskId, comment: str, person: str, at: float, *, resolved: bool) -> None:
        """Mark a sent comment as resolved, or remove the mark."""
        with self._db.transaction():
            if resolved:
                self._db.run(_INSERT_RESOLVED, task, comment, person, at)
            else:
                self._db.run(_DELETE_RESOLVED, task, comment)

    def viewed(self, task: TaskId, person: str) -> tuple[tuple[str, str], ...]:
        """Return the paths of the files that a person has viewed, each with its blob of that moment."""
        return tuple((path, blob) for path, blob in self._db.query(_SELECT_VIEWED, task, person))

    @repeated
    def mark_viewed(
        self, task: TaskId, person: str, path: str, blob: str, at: float, *, viewed: bool
    ) -> None:
        """Mark a file as viewed, or remove the mark."""
        with self._db.transaction():
            self._db.run(_DELETE_VIEWED, task, person, path)
            if viewed:
                self._db.run(_INSERT_VIEWED, task, person, path, blob, at)

    @repeated
    def delete(self, task: TaskId) -> None:
        """Delete everything about a task."""
        with self._db.transaction():
            for statement in _DELETE_ALL:
                self._db.run(statement, task)


def _first_review(rows: list[tuple[Any, ...]]) -> Review | None:
    return _decode_review(rows[0][0]) if rows else None
