"""The routes that accept the work of tasks: many at once, and the command that checks one out."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.project.accepting.batch import AcceptHow, AcceptLine, accept_tasks
from ostler.project.accepting.checkout import Checkout, describe_checkout
from ostler.project.accepting.pull_requests import PullRequestView
from ostler.project.project import Project
from ostler.web.responses import RequestError
from ostler.web.route import Empty, RequestParts
from ostler.web.routes.tasks import find_task
from ostler.web.site import Site


class NewAcceptance(Struct, frozen=True, forbid_unknown_fields=True):
    """The tasks to accept, and how."""

    tasks: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...], Meta(min_length=1, max_length=500)
    ]
    how: AcceptHow


class AcceptView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.accept/1"
    how: AcceptHow
    tasks: tuple[AcceptLine, ...]  # in the order in which they are accepted
    next: str = ""  # the command that continues, if this server runs no tasks


class CheckoutQuery(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(max_length=4000, description="A file of the task, to open.")] = ""
    line: Annotated[int, Meta(ge=1, le=10_000_000)] = 1


def accept_many(site: Site, project: Project, request: RequestParts[Empty, NewAcceptance]) -> AcceptView:
    """Request it for each task; a refused one does not stop those that do not build on it."""
    body = request.body
    tasks: list[TaskId] = [find_task(project, text) for text in body.tasks]
    try:
        lines = accept_tasks(project, site.environ, tasks, body.how)
    except UsageError as error:
        raise RequestError(409, error.message, error.hint, error.code) from None
    requested = [line.id for line in lines if line.result.endswith("requested")]
    after = f"ostler run {' '.join(requested)}" if requested and not site.runs_tasks else ""
    return AcceptView(how=body.how, tasks=tuple(lines), next=after)


def show_pull_request(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> PullRequestView:
    """Return the state of a task's pull request on GitHub with its checks; 409 if it has none."""
    try:
        return site.pull_requests.show(project, find_task(project, request.path["task"]))
    except UsageError as error:
        raise RequestError(409, error.message, error.hint, error.code) from None


def show_checkout(site: Site, project: Project, request: RequestParts[CheckoutQuery, Empty]) -> Checkout:
    """Return the command that checks the work out, and links that open it in an editor."""
    task = find_task(project, request.path["task"])
    return describe_checkout(project, task, request.query.path, request.query.line)
