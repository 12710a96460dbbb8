"""What was done with a form, in words."""

from __future__ import annotations

from msgspec import Struct

from ostler.cli.terminal.text import format_count
from ostler.model.review import Comment, Review


class Sent(Struct, frozen=True):
    """What was done with a form."""

    review: Review | None = None  # null: the comments are only saved
    saved: tuple[Comment, ...] = ()
    then: str = ""


def describe_sent(task: str, sent: Sent) -> str:
    """Return it in one sentence."""
    review = sent.review
    if review is None:
        return f"{format_count(len(sent.saved), 'comment')} saved; not sent.  Next: ostler review {task}"
    done = "approved" if review.verdict == "approve" else "sent back"
    count = f" with {format_count(len(review.comments), 'comment')}" if review.comments else ""
    return f"{task} is {done}{count} (review {review.number})."
