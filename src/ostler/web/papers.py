"""What a task left behind: the papers of its attempts, its timeline, its diff, its files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ostler.errors import UsageError
from ostler.model.attempt import Attempt
from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.project.changes import changes_of
from ostler.project.project import Project
from ostler.views.story import StoryPage, read_story
from ostler.views.timeline import Timeline, view_timeline
from ostler.views.tool_ends import tool_ends
from ostler.web.attachment import Attachment, attach
from ostler.web.problem import Refused
from ostler.web.requests import StoryQuery
from ostler.web.route import Asked, Nothing
from ostler.web.site import Site
from ostler.web.tasks import find_task

_LONGEST_PATCH = 4 * 1024 * 1024
_MOST_FILES = 5000


class PromptView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.prompt/1"
    text: str
    system: str


class DiffView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.diff/1"
    id: str
    patch: str
    truncated: bool


class FileView(Struct, frozen=True):
    path: str  # below the task's directory
    size: int


class FilesView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.files/1"
    files: tuple[FileView, ...]


def show_timeline(site: Site, project: Project, asked: Asked[Nothing, Nothing]) -> Timeline:
    task = find_task(project, asked.path["task"])
    return view_timeline(_feed(project, task), time.time(), tool_ends(project.layout.task(task)))


def show_story(site: Site, project: Project, asked: Asked[StoryQuery, Nothing]) -> StoryPage:
    task, attempt = _attempt(project, asked)
    path = project.layout.task(task) / attempt.transcript
    return read_story(path.with_suffix(".story.ndjson"), asked.query.offset, asked.query.limit)


def show_prompt(site: Site, project: Project, asked: Asked[Nothing, Nothing]) -> PromptView:
    task, attempt = _attempt(project, asked)
    name = project.layout.task(task) / "prompts" / Path(attempt.transcript).stem
    text = _read(name.with_suffix(".md"))
    if text is None:
        raise Refused(404, f"the prompt of attempt {attempt.number} is not kept")
    return PromptView(text=text, system=_read(name.with_suffix(".system.md")) or "")


def get_raw(site: Site, project: Project, asked: Asked[Nothing, Nothing]) -> Attachment:
    task, attempt = _attempt(project, asked)
    return attach(project.layout.task(task), attempt.transcript)


def show_diff(site: Site, project: Project, asked: Asked[Nothing, Nothing]) -> DiffView:
    task = find_task(project, asked.path["task"])
    try:
        patch = changes_of(project, task)
    except UsageError as error:
        raise Refused(409, error.message, error.hint) from None
    text = patch[:_LONGEST_PATCH].decode("utf-8", "replace")
    return DiffView(id=task, patch=text, truncated=len(patch) > _LONGEST_PATCH)


def list_files(site: Site, project: Project, asked: Asked[Nothing, Nothing]) -> FilesView:
    root = project.layout.task(find_task(project, asked.path["task"]))
    found = sorted(_files(root, root), key=lambda file: file.path)
    return FilesView(files=tuple(found[:_MOST_FILES]))


def get_file(site: Site, project: Project, asked: Asked[Nothing, Nothing]) -> Attachment:
    task = find_task(project, asked.path["task"])
    return attach(project.layout.task(task), asked.path["path"])


def _attempt(
    project: Project, asked: Asked[StoryQuery, Nothing] | Asked[Nothing, Nothing]
) -> tuple[TaskId, Attempt]:
    task, number = find_task(project, asked.path["task"]), asked.path["number"]
    for attempt in project.journal.attempts(task):
        if attempt.number == number:
            return task, attempt
    raise Refused(404, f"{task} has no attempt {number}", f"ostler show {task}   lists them")


def _feed(project: Project, task: TaskId) -> Iterator[FeedLine]:
    after = 0
    while lines := project.feed(after, task):
        yield from lines
        after = lines[-1].position


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return None


def _files(root: Path, folder: Path) -> Iterator[FileView]:
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _files(root, Path(entry.path))
        elif entry.is_file(follow_symlinks=False):
            path = Path(entry.path).relative_to(root)
            yield FileView(path.as_posix(), entry.stat(follow_symlinks=False).st_size)
