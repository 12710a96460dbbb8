"""Finds the files of a task for readers, also when another machine has them."""

from __future__ import annotations

from glob import escape
from threading import Lock
from typing import TYPE_CHECKING

from ostler.config.cluster import BlobsSettings
from ostler.errors import SettingsInvalid
from ostler.files.lock import is_locked
from ostler.model.ids import TaskId
from ostler.project.artifacts.files import FilesView, FileView, list_files
from ostler.project.project import Project

if TYPE_CHECKING:
    from pathlib import Path

    from ostler.blobs.copies import Copies

LOGS = ("transcripts/*.md", "transcripts/*.log.ndjson")
PROMPTS = ("prompts/*",)

# One for each store that this process reads: its threads share the lists.
_open_copies: dict[tuple[Path, BlobsSettings], Copies] = {}
_opening = Lock()


def find_task_folder(project: Project, task: TaskId, *patterns: str) -> Path:
    """Return a directory with the files of a task that match, such as transcripts/*.md.

    That is the task's own directory; with [blobs] a copy of what other machines have uploaded, if they have
    more. A running transcript is at most three seconds behind.
    """
    return _find(project, task, patterns, is_complete=is_locked(project.layout.lock(task)))


def find_file_folder(project: Project, task: TaskId, path: str) -> Path:
    """Return a directory with one file of a task, if there is this file; see find_task_folder."""
    return _find(project, task, (escape(path),), is_complete=False)


def list_task_files(project: Project, task: TaskId) -> FilesView:
    """Return the files of a task on this machine, and those that other machines uploaded."""
    found, copies = list_files(project.layout.task(task)), find_copies(project)
    if copies is None:
        return found
    sizes = {one.path: one.size for one in found.files}
    for path, blob in copies.list(task).items():
        sizes[path] = max(blob.size, sizes.get(path, 0))
    return FilesView(files=tuple(FileView(path, size) for path, size in sorted(sizes.items())))


def _find(project: Project, task: TaskId, patterns: tuple[str, ...], *, is_complete: bool) -> Path:
    own, copies = project.layout.task(task), find_copies(project)
    # The claim of a task that runs here has fetched what other machines had, except for raw output.
    return own if copies is None or is_complete else copies.find(task, own, patterns)


def find_copies(project: Project) -> Copies | None:
    """Return what other machines have uploaded; None without [blobs]."""
    try:
        settings = project.settings.blobs
    except SettingsInvalid:
        return None
    if not settings.url:
        return None
    # Most projects have no blob store.
    from ostler.blobs.copies import Copies  # noqa: PLC0415
    from ostler.blobs.opening import open_url  # noqa: PLC0415

    key = (project.layout.state, settings)
    with _opening:
        if key not in _open_copies:
            blobs = open_url(settings, project.environ)
            _open_copies[key] = Copies(blobs, project.journal.store_id, project.layout.copies)
        return _open_copies[key]
