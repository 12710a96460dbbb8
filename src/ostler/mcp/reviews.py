"""The tools for reviews: read one, save a comment, send the decision of the person."""

from __future__ import annotations

import os
from typing import Annotated

from msgspec import Meta, Struct, to_builtins
from msgspec.structs import asdict

from ostler.errors import UsageError
from ostler.mcp.arguments import Id
from ostler.mcp.results import ToolResult
from ostler.model.ids import TaskId
from ostler.model.review import ReviewVerdict
from ostler.project.project import Project
from ostler.project.reviews.allowed import Then
from ostler.project.reviews.changes import read_changes_patch, view_changes
from ostler.project.reviews.drafts import save_draft
from ostler.project.reviews.new_comment import ReviewComment, build_change
from ostler.project.reviews.send import NewReview
from ostler.project.reviews.send import send_review as send
from ostler.project.reviews.view import ReviewView, show_review
from ostler.views.diff.changes import ChangedFile

MCP = "mcp"
LONGEST_PATCH = 200_000  # characters

_Version = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-f]{0,64}$",
        description="The `version` of the review that you read. Other work is refused.",
    ),
]


class ReviewArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: Id
    patch: Annotated[
        bool, Meta(description="Also return the changes as a patch, at most 200,000 characters.")
    ] = False
    since: Annotated[
        int, Meta(ge=0, description="Only changes since the work of this review; 0: all of the task.")
    ] = 0


class CommentArguments(ReviewComment, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: Id
    version: _Version


class SendReviewArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: Id
    verdict: Annotated[
        ReviewVerdict, Meta(description="approve, or changes: the agent continues with the comments.")
    ]
    version: _Version
    text: Annotated[str, Meta(description="About the whole work.")] = ""
    then: Annotated[
        Then, Meta(description="How approved work is published: merge, pr (a pull request), or empty: not.")
    ] = ""


class ReviewResult(ReviewView, frozen=True, kw_only=True):
    """A review (ostler.review/1), with the changes if they were requested."""

    files: tuple[ChangedFile, ...] = ()
    patch: str = ""
    truncated: bool = False  # the patch is longer
    no_changes: str = ""  # why there are none to show


def review(project: Project, arguments: ReviewArguments) -> ToolResult:
    """Return the review of a task."""
    task = project.resolve(arguments.id)
    return _describe(project, task, arguments.since, with_patch=arguments.patch)


def comment(project: Project, arguments: CommentArguments) -> ToolResult:
    """Save a comment as a draft of the person, marked as that of an MCP client."""
    task = project.resolve(arguments.id)
    values = {name: getattr(arguments, name) for name in ReviewComment.__struct_fields__}
    is_document = project.state(task).plan.is_document
    change = build_change(ReviewComment(**values), arguments.version, is_document=is_document)
    save_draft(project, task, change, via=MCP)
    return _describe(project, task)


def send_review(project: Project, arguments: SendReviewArguments) -> ToolResult:
    """Send all drafts of the person with a decision."""
    task = project.resolve(arguments.id)
    new = NewReview(
        verdict=arguments.verdict, commit=arguments.version, text=arguments.text, then=arguments.then
    )
    send(project, os.environ, task, new, via=MCP)
    return _describe(project, task)


def _describe(project: Project, task: TaskId, since: int = 0, *, with_patch: bool = False) -> ToolResult:
    view = show_review(project, task)
    files, patch, no_changes = (), "", ""
    try:
        changes = view_changes(project, task, since)
        files = changes.files
        if with_patch:
            patch = read_changes_patch(project, task, since, "", changes.head).patch
    except UsageError as error:
        no_changes = error.message
    result = ReviewResult(
        **asdict(view),
        files=files,
        patch=patch[:LONGEST_PATCH],
        truncated=len(patch) > LONGEST_PATCH,
        no_changes=no_changes,
    )
    return ToolResult(_summarize(view), to_builtins(result))


def _summarize(view: ReviewView) -> str:
    sent = sum(len(one.comments) for one in view.reviews)
    parts = [f"{view.id} is {view.status}, at version {view.version[:10] or 'none'}"]
    parts.append(f"Comments: {len(view.drafts)} not sent, {sent} sent")
    for name, found in (("approved", view.can.approve), ("sent back", view.can.send_back)):
        parts.append(f"it can be {name}" if found.allowed else f"it cannot be {name}: {found.reason}")
    return f"{'. '.join(part[0].upper() + part[1:] if part[:2] == 'it' else part for part in parts)}."
