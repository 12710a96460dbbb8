"""A review that does not fit the present state of its task."""

from __future__ import annotations

from ostler.errors import UsageError


class ReviewConflict(UsageError):
    """The work has changed, somebody has decided about it, or there is nothing to send."""


class StaleReview(ReviewConflict):
    """What a person or a program has read is not the present state of the review."""

    def __init__(self, message: str, kept: str = "") -> None:
        super().__init__(message, self.advise("read the review again", kept))
        self.kept = kept  # a sentence about what is not lost

    @staticmethod
    def advise(step: str, kept: str) -> str:
        """Return the next step with what is not lost."""
        return "; ".join(filter(None, (step, kept)))
