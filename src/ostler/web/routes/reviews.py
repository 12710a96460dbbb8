"""The routes of reviews: the page, comments and marks of a person, and the decision."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.project.reviews import drafts
from ostler.project.reviews.conflict import ReviewConflict, StaleReview
from ostler.project.reviews.drafts import CommentChange
from ostler.project.reviews.send import NewReview
from ostler.project.reviews.send import send_review as send
from ostler.project.reviews.view import ReviewView
from ostler.project.reviews.view import show_review as view_review
from ostler.web.requests import Body, EmptyBody
from ostler.web.responses import RequestError
from ostler.web.route import Empty, RequestParts
from ostler.web.routes.tasks import find_task
from ostler.web.site import Site


class Resolve(Body, frozen=True):
    resolved: bool = True


class ViewFile(Body, frozen=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    blob: Annotated[str, Meta(pattern=r"^[0-9a-f]{0,64}$")] = ""
    viewed: bool = True


def show_review(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> ReviewView:
    return view_review(project, find_task(project, request.path["task"]))


def save_comment(site: Site, project: Project, request: RequestParts[Empty, CommentChange]) -> ReviewView:
    """Create or replace a comment that is not sent; 409 when the page is stale."""
    task = find_task(project, request.path["task"])
    try:
        drafts.save_draft(project, task, request.body)
    except ReviewConflict as error:
        raise _conflict(error) from None
    return view_review(project, task)


def delete_comment(site: Site, project: Project, request: RequestParts[Empty, EmptyBody]) -> ReviewView:
    task = find_task(project, request.path["task"])
    drafts.delete_draft(project, task, request.path["comment"])
    return view_review(project, task)


def resolve_comment(site: Site, project: Project, request: RequestParts[Empty, Resolve]) -> ReviewView:
    task, comment = find_task(project, request.path["task"]), request.path["comment"]
    try:
        drafts.mark_resolved(project, task, comment, resolved=request.body.resolved)
    except UsageError as error:
        raise RequestError(404, error.message, error.hint) from None
    return view_review(project, task)


def mark_viewed(site: Site, project: Project, request: RequestParts[Empty, ViewFile]) -> ReviewView:
    task, body = find_task(project, request.path["task"]), request.body
    drafts.mark_viewed(project, task, body.path, body.blob, viewed=body.viewed)
    return view_review(project, task)


def send_review(site: Site, project: Project, request: RequestParts[Empty, NewReview]) -> ReviewView:
    """Send the comments with a decision; 409 when it is stale, decided meanwhile, or empty."""
    task = find_task(project, request.path["task"])
    try:
        send(project, site.environ, task, request.body)
    except ReviewConflict as error:
        raise _conflict(error) from None
    return view_review(project, TaskId(task))


def _conflict(error: ReviewConflict) -> RequestError:
    hint = error.advise("reload the page", error.kept) if isinstance(error, StaleReview) else error.hint
    return RequestError(409, error.message, hint, error.code)
