"""The files of sent reviews in the directory of a task, from which a lost journal is rebuilt."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ostler.errors import OstlerError
from ostler.files.atomic import remake_private_dir, write_projection
from ostler.files.layout import Layout
from ostler.model.ids import TaskId
from ostler.model.review import Review
from ostler.project.project import Project
from ostler.secrets.redact import redact_bytes

_FOLDER = "reviews"
_LARGEST_BYTES = 64 * 1024 * 1024


def write_review_file(task: TaskId, review: Review, layout: Layout) -> None:
    """Write reviews/N.json; the review is in the journal already, so nothing fails because of it."""
    folder = layout.task(task) / _FOLDER
    try:
        remake_private_dir(folder, layout.state)
        write_projection(folder / f"{review.number}.json", redact_bytes(msgspec.json.encode(review)))
    except OstlerError as error:
        from logging import getLogger  # noqa: PLC0415  (rarely needed)

        getLogger(__name__).warning("review %d of %s could not be written: %s", review.number, task, error)


def restore_reviews(project: Project, task: TaskId) -> None:
    """Add the reviews of these files that the journal lacks."""
    reviews = project.journal.reviews
    known = {one.number for one in reviews.list(task)}
    for review in sorted(_read_files(project.layout.task(task) / _FOLDER), key=lambda one: one.number):
        if review.number in known:
            continue
        with project.journal.transaction():
            reviews.add(task, review)
        known.add(review.number)


def _read_files(folder: Path) -> list[Review]:
    """Return the reviews of a directory; files that cannot be read are left out."""
    found: list[Review] = []
    for path in folder.glob("*.json") if folder.is_dir() else ():
        try:
            if path.stat().st_size <= _LARGEST_BYTES:
                found.append(msgspec.json.decode(path.read_bytes(), type=Review))
        except (OSError, msgspec.DecodeError):
            continue
    return found
