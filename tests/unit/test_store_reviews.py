"""Reviews, drafts and marks, in each database."""

from __future__ import annotations

import pytest

from ostler.model.ids import TaskId
from ostler.model.review import Comment, Place, Review
from ostler.store.store import Store

TASK, OTHER = TaskId("fix-a1b2"), TaskId("add-c3d4")
FIRST = Comment(id="c1", place=Place("src/a.py", "new", 3, 4), text="Return early.", at=2.0)
SECOND = Comment(id="c2", kind="question", text="Why here?", at=1.0)


def make_review(number: int, *comments: Comment, by: str = "ada") -> Review:
    return Review(
        number=number, at=5.0, by=by, verdict="changes", commit="abc", base="def", comments=comments
    )


def test_drafts_belong_to_a_person_and_keep_their_order(store: Store) -> None:
    """A draft is replaced by its id, without moving; another connection reads it; others do not have it."""
    with store.open_reviews() as mine, store.open_reviews() as again:
        assert mine.save_draft(TASK, "ada", FIRST, 500)
        assert mine.save_draft(TASK, "ada", SECOND, 500)
        edited = Comment(id="c2", text="Why not below?", suggestion="", at=9.0)
        assert mine.save_draft(TASK, "ada", edited, 500)
        assert again.drafts(TASK, "ada") == (edited, FIRST)
        assert (again.drafts(TASK, "bob"), again.drafts(OTHER, "ada")) == ((), ())
        mine.delete_draft(TASK, "ada", "c2")
        mine.delete_draft(TASK, "ada", "c2")
        assert again.drafts(TASK, "ada") == (FIRST,)


def test_the_number_of_drafts_is_bounded(store: Store) -> None:
    """One more than the limit is refused; one that exists can still be replaced."""
    with store.open_reviews() as reviews:
        assert reviews.save_draft(TASK, "ada", FIRST, 1)
        assert not reviews.save_draft(TASK, "ada", SECOND, 1)
        assert reviews.save_draft(TASK, "ada", FIRST, 1)
        assert reviews.drafts(TASK, "ada") == (FIRST,)


def test_sending_deletes_the_drafts_of_the_person(store: Store) -> None:
    """The review has its number and the id of its request; a sent comment is no draft again."""
    with store.open_reviews() as reviews:
        reviews.save_draft(TASK, "ada", FIRST, 500)
        reviews.save_draft(TASK, "bob", SECOND, 500)
        sent = make_review(reviews.next_number(TASK), FIRST)
        with reviews._db.transaction():
            reviews.add(TASK, sent, "request-1")
        assert (reviews.list(TASK), reviews.find(TASK, 1), reviews.find(TASK, 2)) == ((sent,), sent, None)
        assert (reviews.drafts(TASK, "ada"), reviews.drafts(TASK, "bob")) == ((), (SECOND,))
        assert reviews.save_draft(TASK, "ada", FIRST, 500)
        assert reviews.drafts(TASK, "ada") == ()
        assert reviews.next_number(TASK) == 2
        assert reviews.find_request(TASK, "request-1") == sent
        assert reviews.find_request(TASK, "request-2") is reviews.find_request(TASK, "") is None


def test_a_review_that_is_rolled_back_leaves_the_drafts(store: Store) -> None:
    """The review and the deletion of its drafts are one transaction."""
    with store.open_reviews() as reviews:
        reviews.save_draft(TASK, "ada", FIRST, 500)
        with pytest.raises(RuntimeError), reviews._db.transaction():
            reviews.add(TASK, make_review(1, FIRST))
            raise RuntimeError
        assert (reviews.list(TASK), reviews.drafts(TASK, "ada")) == ((), (FIRST,))


def test_marks_are_set_and_removed(store: Store) -> None:
    """A comment is resolved for all; a file is viewed by one person, with its blob."""
    with store.open_reviews() as reviews:
        for person in ("ada", "bob"):
            reviews.mark_resolved(TASK, "c1", person, 1.0, resolved=True)
        reviews.mark_viewed(TASK, "ada", "b" * 4000, "1" * 40, 1.0, viewed=True)
        reviews.mark_viewed(TASK, "ada", "a", "2" * 40, 2.0, viewed=True)
        reviews.mark_viewed(TASK, "ada", "a", "3" * 40, 3.0, viewed=True)
        assert reviews.resolved(TASK) == {"c1"}
        assert reviews.viewed(TASK, "ada") == (("a", "3" * 40), ("b" * 4000, "1" * 40))
        assert reviews.viewed(TASK, "bob") == ()
        reviews.mark_resolved(TASK, "c1", "bob", 1.0, resolved=False)
        reviews.mark_viewed(TASK, "ada", "a", "", 2.0, viewed=False)
        assert reviews.resolved(TASK) == frozenset()
        assert reviews.viewed(TASK, "ada") == (("b" * 4000, "1" * 40),)


def test_everything_about_a_task_is_deleted(store: Store) -> None:
    """A purged task has no reviews; those of others stay."""
    with store.open_reviews() as reviews:
        for task in (TASK, OTHER):
            with reviews._db.transaction():
                reviews.add(task, make_review(1, SECOND))
            reviews.save_draft(task, "ada", FIRST, 500)
            reviews.mark_resolved(task, "c2", "ada", 1.0, resolved=True)
            reviews.mark_viewed(task, "ada", "a", "b", 1.0, viewed=True)
        reviews.delete(TASK)
        assert (reviews.list(TASK), reviews.drafts(TASK, "ada")) == ((), ())
        assert (reviews.resolved(TASK), reviews.viewed(TASK, "ada")) == (frozenset(), ())
        assert reviews.list(OTHER) and reviews.drafts(OTHER, "ada") and reviews.viewed(OTHER, "ada")


def test_no_secret_is_stored(store: Store) -> None:
    """A comment that quotes a key has a mark in its place."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with store.open_reviews() as reviews:
        reviews.save_draft(TASK, "ada", Comment(id="c3", text=f"Remove {secret}."), 500)
        assert secret not in reviews.drafts(TASK, "ada")[0].text
