"""Connects the writer of a run with the blob store of the project."""

from __future__ import annotations

from functools import partial

from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.rows import is_purged
from ostler.project.cluster.claimed import is_claimed_here
from ostler.project.project import Project
from ostler.store.run_writer import RunWriter
from ostler.waits import report_wait


def mirror_writer(project: Project, writer: RunWriter) -> RunWriter:
    """Return a writer that uploads the files of tasks; the given one without [blobs].

    Raises UsageError if the store refuses requests, which would fail in the same way later.
    """
    if not project.settings.blobs.url:
        return writer
    # Most projects have no blob store.
    from ostler.blobs.failure import BlobsUnavailable  # noqa: PLC0415
    from ostler.blobs.mirror import Mirror  # noqa: PLC0415
    from ostler.blobs.opening import open_url  # noqa: PLC0415
    from ostler.engine.mirrored_writer import MirroredWriter  # noqa: PLC0415

    blobs = open_url(project.settings.blobs, project.environ)
    try:
        open_url(project.settings.blobs, project.environ, is_probe=True).check()
    except BlobsUnavailable as error:
        if not error.is_outage:
            raise UsageError(error.message, error.hint, error.code) from error
        report_wait(error.message)
    mirror = Mirror(blobs, writer.store_id, project.layout)
    mirror.finish_earlier(partial(_has_unused_files, project))
    return MirroredWriter(writer, mirror)


def _has_unused_files(project: Project, task: TaskId) -> bool:
    """Return whether a task has files that no run of this machine uses now; a purged task has none."""
    row = project.journal.row(task)
    return row is not None and not is_purged(row) and not is_claimed_here(task, project.layout)
