"""Reviews for programs: the methods of `Ostler`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ostler.model.ids import TaskId
from ostler.model.review import ReviewVerdict
from ostler.project.project import Project

if TYPE_CHECKING:
    from ostler.project.reviews.allowed import Then
    from ostler.project.reviews.new_comment import ReviewComment
    from ostler.project.reviews.view import ReviewView


class ReviewMethods:
    """The part of `Ostler` that reviews the work of tasks."""

    project: Project
    _environ: Mapping[str, str]

    async def review(self, task: str) -> ReviewView:
        """Return the review of a task: its version, what can be decided, drafts, and what was sent before."""
        return await asyncio.to_thread(_show, self.project, self.project.resolve(task))

    async def send_review(
        self,
        task: str,
        verdict: ReviewVerdict,
        *,
        text: str = "",
        comments: Iterable[ReviewComment] = (),
        then: Then = "",
        version: str = "",
    ) -> ReviewView:
        """Approve the work of a task, or send it back ("changes") with comments; return the review.

        Comments that you saved elsewhere, such as in the dashboard, are sent with these. `version` is that
        of a review which was shown; other work is refused, and the comments that were saved stay drafts.
        """
        found, given = self.project.resolve(task), tuple(comments)
        return await asyncio.to_thread(self._send_review, found, verdict, text, given, then, version)

    def _send_review(
        self,
        task: TaskId,
        verdict: ReviewVerdict,
        text: str,
        comments: tuple[ReviewComment, ...],
        then: Then,
        version: str,
    ) -> ReviewView:
        # A run of tasks needs none of these.
        from ostler.project.reviews.allowed import find_version  # noqa: PLC0415
        from ostler.project.reviews.drafts import save_draft  # noqa: PLC0415
        from ostler.project.reviews.new_comment import build_change  # noqa: PLC0415
        from ostler.project.reviews.send import NewReview, send_review  # noqa: PLC0415

        state = self.project.state(task)
        shown = version or find_version(state)
        for comment in comments:
            change = build_change(comment, shown, is_document=state.plan.is_document)
            save_draft(self.project, task, change)
        new = NewReview(verdict=verdict, commit=shown, text=text, then=then)
        send_review(self.project, self._environ, task, new)
        return _show(self.project, task)


def _show(project: Project, task: TaskId) -> ReviewView:
    from ostler.project.reviews.view import show_review  # noqa: PLC0415  (a run of tasks needs none)

    return show_review(project, task)
