"""The form of a review in the directory of its task, until it is sent."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.cli.terminal.editor import read_kept_text
from ostler.files.atomic import make_private_dir, write_projection
from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.project.reviews.bundle import NewComment
from ostler.secrets.redact import redact_struct, redact_text

# A directory, since editors put their backup and recovery files beside the form.
_FOLDER, _CONTENT, _LOCK = "review-form", "content.json", "review-form.lock"


class Content(Struct, frozen=True):
    """What was written into a form that could be read."""

    version: str  # of the work that it is about
    text: str
    comments: tuple[NewComment, ...]


def find_form(project: Project, task: TaskId) -> Path:
    """Return the path of the form that an editor opens."""
    return project.layout.task(task) / _FOLDER / f"{task}.diff"


def find_lock(project: Project, task: TaskId) -> Path:
    """Return the path of the lock of the form."""
    return project.layout.task(task) / _LOCK


def keep_form(project: Project, task: TaskId, text: str, content: Content | None) -> None:
    """Keep the text of a form, and what was read from it."""
    form = find_form(project, task)
    make_private_dir(form.parent)
    write_projection(form, redact_text(text).encode("utf-8", "replace"))
    if content is None:
        form.with_name(_CONTENT).unlink(missing_ok=True)
    else:
        write_projection(form.with_name(_CONTENT), msgspec.json.encode(redact_struct(content)))


def read_kept(project: Project, task: TaskId) -> tuple[str, Content | None]:
    """Return the text of the kept form, empty without one, and its content."""
    form = find_form(project, task)
    text, content = read_kept_text(form), read_kept_text(form.with_name(_CONTENT))
    try:
        return text, msgspec.json.decode(content, type=Content) if content else None
    except msgspec.DecodeError:
        return text, None


def drop_kept(project: Project, task: TaskId) -> None:
    """Delete the form, with what the editor has put beside it."""
    shutil.rmtree(find_form(project, task).parent, ignore_errors=True)


def set_aside(project: Project, task: TaskId) -> Path:
    """Move the kept form away, so that another one can be kept; return its path for messages."""
    folder, number = project.layout.task(task), 1
    while (folder / f"review-form-{number}.txt").exists():
        number += 1
    find_form(project, task).replace(folder / f"review-form-{number}.txt")
    return project.layout.shown_task(task) / f"review-form-{number}.txt"


def name_kept(project: Project, task: TaskId) -> Path:
    """Return the path of the kept form, for messages."""
    return project.layout.shown_task(task) / _FOLDER / f"{task}.diff"
