"""Tasks and their transcripts as MCP resources."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.errors import UsageError
from ostler.mcp.arguments import MAX_TASKS, ListArguments
from ostler.mcp.tools import list_tasks
from ostler.project.artifacts.task_folder import find_task_folder
from ostler.project.artifacts.task_view import show_task
from ostler.project.project import Project
from ostler.views.agent_work.transcript import Transcript, list_transcripts
from ostler.views.task import as_json

TASKS = "ostler://tasks"
MAX_TRANSCRIPT_BYTES = 200_000
_JSON, _TEXT = "application/json", "text/markdown"
# The list of resources names only the tasks that changed last.
_LISTED_TASKS = 50


class Resource(Struct, frozen=True):
    """A resource, or with `{id}` in its URI a template."""

    uri: str
    name: str
    description: str
    mime_type: str


class Content(Struct, frozen=True):
    text: str
    mime_type: str


TEMPLATES = (
    Resource(f"{TASKS}/{{id}}", "task", "One task in full (ostler.task/1).", _JSON),
    Resource(
        f"{TASKS}/{{id}}/transcript",
        "transcript",
        "The output and actions of its agents, by attempt; of a long transcript only the end.",
        _TEXT,
    ),
)


def list_resources(project: Project) -> list[Resource]:
    """Return the list of tasks, and the tasks that changed last."""
    rows = list_tasks(project, ListArguments(limit=_LISTED_TASKS)).document["tasks"]
    all_tasks = Resource(TASKS, "tasks", f"The last {MAX_TASKS} tasks that changed (ostler.status/1).", _JSON)
    return [
        all_tasks,
        *(Resource(f"{TASKS}/{row['id']}", row["title"], row["status"], _JSON) for row in rows),
    ]


def read_resource(project: Project, uri: str) -> Content:
    """Return the content of a resource; raise UsageError for an unknown URI."""
    match uri.removeprefix(TASKS).split("/"):
        case [""] if uri == TASKS:
            return _encode(list_tasks(project, ListArguments(limit=MAX_TASKS)).document)
        case ["", task] if task:
            return _encode(as_json(show_task(project, project.resolve(task), os.environ, time.time())))
        case ["", task, "transcript"] if task:
            found = project.resolve(task)
            folder = find_task_folder(project, found, "transcripts/*.md")
            return Content(read_transcript(found, folder), _TEXT)
        case _:
            uris = ", ".join((TASKS, *(template.uri for template in TEMPLATES)))
            raise UsageError(f"unknown resource {uri:.200}", f"use one of {uris}")


def read_transcript(task: str, folder: Path, max_bytes: int = MAX_TRANSCRIPT_BYTES) -> str:
    """Return the transcripts of all attempts, oldest first, without the beginning if they are too long."""
    parts: list[str] = []
    remaining, omitted = max_bytes, 0
    for page in reversed(list_transcripts(folder)):
        size = page.path.stat().st_size
        if remaining:
            parts.append(_read_end(page, min(size, remaining)))
        omitted += max(0, size - remaining)
        remaining = max(0, remaining - size)
    if not parts:
        return f"{task} has not been started.\n"
    note = f"({omitted} bytes omitted; `ostler log {task}` prints all.)\n\n"
    return (note if omitted else "") + "\n".join(reversed(parts))


def _read_end(page: Transcript, length: int) -> str:
    with page.path.open("rb") as file:
        file.seek(-length, 2)
        return file.read(length).decode("utf-8", "replace")


def _encode(document: object) -> Content:
    return Content(msgspec.json.encode(document).decode(), _JSON)
