"""What a task has in the blob store, and what was copied from there to this machine."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from ostler.files.atomic import make_private_dir
from ostler.model.state import State
from ostler.project.project import Project

if TYPE_CHECKING:
    from ostler.blobs.blobs import Blobs


def count_uploaded_bytes(project: Project, state: State) -> int:
    """Return the size of the task's blobs; 0 without [blobs]. Raises BlobsUnavailable."""
    found = _open(project, state)
    return sum(blob.size for blob in found[0].list(found[1])) if found else 0


def mark_uploaded(project: Project, state: State) -> None:
    """Create the directory of a task that ran elsewhere, so that an interrupted deletion is found by it."""
    if _open(project, state):
        make_private_dir(project.layout.task(state.task))


def delete_uploaded(project: Project, state: State) -> None:
    """Delete the blobs of a task, and their copies on this machine. Raises BlobsUnavailable."""
    found = _open(project, state)
    if found:
        found[0].delete_below(found[1])
        shutil.rmtree(project.layout.copies / state.task, ignore_errors=True)
        (project.layout.not_uploaded / state.task).unlink(missing_ok=True)


def _open(project: Project, state: State) -> tuple[Blobs, str] | None:
    """Return the store and the prefix of the task's blobs; None if it can have none."""
    settings = project.settings.blobs
    if not settings.url or not state.claims:
        return None
    from ostler.blobs.names import name_task  # noqa: PLC0415  (most projects have no blob store)
    from ostler.blobs.opening import open_url  # noqa: PLC0415

    return open_url(settings, project.environ), name_task(project.journal.store_id, state.task)
