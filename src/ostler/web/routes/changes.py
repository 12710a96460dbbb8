"""The changes of a task, in parts for the review page."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ostler.errors import UsageError
from ostler.project.project import Project
from ostler.project.reviews.changes import NotInChanges, read_changes_patch, view_blob, view_changes
from ostler.project.reviews.documents import NoDocument, require_path, view_document
from ostler.project.reviews.ends import CommitsGone
from ostler.project.reviews.images import UnknownImage, read_image
from ostler.views.diff.changes import Blob, Changes, DocumentView, Patch
from ostler.web.requests import ChangesQuery, DocumentQuery, PatchQuery
from ostler.web.responses import Attachment, Inline, RequestError, attach
from ostler.web.route import Empty, RequestParts
from ostler.web.routes.tasks import find_task
from ostler.web.site import Site

_SVG_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"


def show_changes(site: Site, project: Project, request: RequestParts[ChangesQuery, Empty]) -> Changes:
    task = find_task(project, request.path["task"])
    with _as_status():
        return view_changes(project, task, request.query.since)


def show_patch(site: Site, project: Project, request: RequestParts[PatchQuery, Empty]) -> Patch:
    task = find_task(project, request.path["task"])
    with _as_status():
        query = request.query
        return read_changes_patch(project, task, query.since, query.path, query.head)


def show_blob(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> Blob:
    task = find_task(project, request.path["task"])
    with _as_status():
        return view_blob(project, task, request.path["blob"])


def show_image(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> Inline:
    task = find_task(project, request.path["task"])
    with _as_status():
        image = read_image(project, task, request.path["blob"])
    return Inline(image.data, image.media_type, {"Content-Security-Policy": _SVG_POLICY})


def show_document(site: Site, project: Project, request: RequestParts[DocumentQuery, Empty]) -> DocumentView:
    task = find_task(project, request.path["task"])
    with _as_status():
        return view_document(project, task, request.query.version)


def get_document(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> Attachment:
    task = find_task(project, request.path["task"])
    with _as_status():
        path = require_path(project, project.state(task))
    return attach(project.layout.root, path)


@contextmanager
def _as_status() -> Generator[None]:
    """Raise the error with the status of its condition."""
    try:
        yield
    except (CommitsGone, NoDocument, NotInChanges) as error:
        raise RequestError(404, error.message, error.hint) from None
    except UnknownImage as error:
        raise RequestError(415, error.message, error.hint) from None
    except UsageError as error:
        raise RequestError(409, error.message, error.hint) from None
