"""What a task produced: attempt logs, prompts, timeline, diff and files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ostler.errors import UsageError
from ostler.model.attempt import Attempt
from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.project.artifacts.files import FilesView
from ostler.project.artifacts.task_folder import (
    LOGS,
    PROMPTS,
    find_file_folder,
    find_task_folder,
    list_task_files,
)
from ostler.project.decisions.dispose import describe_purged
from ostler.project.project import Project
from ostler.project.reviews.ends import CommitsGone
from ostler.project.tasks.changes import read_patch
from ostler.secrets.redact import redact_bytes
from ostler.views.agent_work.attempt_log import LOG_SUFFIX, AttemptLogPage, read_log
from ostler.views.agent_work.tool_ends import tool_ends
from ostler.views.timeline import Timeline, view_timeline
from ostler.web.requests import FileQuery, LogQuery
from ostler.web.responses import Attachment, RequestError, attach
from ostler.web.route import Empty, RequestParts
from ostler.web.routes.tasks import find_task
from ostler.web.site import Site

_LONGEST_PATCH = 4 * 1024 * 1024


class PromptView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.prompt/1"
    text: str
    system: str


class DiffView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.diff/1"
    id: str
    patch: str
    truncated: bool


def show_timeline(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> Timeline:
    task = find_task(project, request.path["task"])
    ends = tool_ends(find_task_folder(project, task, *LOGS))
    return view_timeline(_feed(project, task), time.time(), ends)


def show_log(site: Site, project: Project, request: RequestParts[LogQuery, Empty]) -> AttemptLogPage:
    task, attempt = _attempt(project, request)
    log, page = (str(Path(attempt.transcript).with_suffix(suffix)) for suffix in (LOG_SUFFIX, ".md"))
    path = find_task_folder(project, task, log, page) / log
    return read_log(path, request.query.offset, request.query.limit)


def show_prompt(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> PromptView:
    task, attempt = _attempt(project, request)
    name = find_task_folder(project, task, *PROMPTS) / "prompts" / Path(attempt.transcript).stem
    text = _read(name.with_suffix(".md"))
    if text is None:
        raise RequestError(404, f"the prompt of attempt {attempt.number} was not kept")
    return PromptView(text=text, system=_read(name.with_suffix(".system.md")) or "")


def get_raw(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> Attachment:
    task, attempt = _attempt(project, request)
    return attach(find_file_folder(project, task, attempt.transcript), attempt.transcript)


def show_diff(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> DiffView:
    task = find_task(project, request.path["task"])
    try:
        patch = read_patch(project, task)
    except CommitsGone as error:
        raise RequestError(404, error.message, error.hint) from None
    except UsageError as error:
        raise RequestError(409, error.message, error.hint) from None
    text = redact_bytes(patch[:_LONGEST_PATCH]).decode("utf-8", "replace")
    return DiffView(id=task, patch=text, truncated=len(patch) > _LONGEST_PATCH)


def list_files(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> FilesView:
    return list_task_files(project, find_task(project, request.path["task"]))


def get_file(site: Site, project: Project, request: RequestParts[FileQuery, Empty]) -> Attachment:
    task, path = find_task(project, request.path["task"]), request.path["path"]
    return attach(find_file_folder(project, task, path), path, shown=request.query.shown)


def _attempt(
    project: Project, request: RequestParts[LogQuery, Empty] | RequestParts[Empty, Empty]
) -> tuple[TaskId, Attempt]:
    task, number = find_task(project, request.path["task"]), request.path["number"]
    if (state := project.state(task)).purged_at is not None:
        raise RequestError(404, f"{describe_purged(state)}: its logs are deleted", f"ostler show {task}")
    for attempt in project.journal.attempts(task):
        if attempt.number == number:
            return task, attempt
    raise RequestError(404, f"{task} has no attempt {number}", f"ostler show {task}   lists its attempts")


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
