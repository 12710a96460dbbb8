"""Exports the record of a task for other programs, as versioned NDJSON or as a trajectory.

Secrets of known forms are redacted, and the path of the project is replaced by a dot.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import Struct, to_builtins

from ostler import __version__
from ostler.clock import format_rfc3339
from ostler.errors import UsageError
from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.project.artifacts.task_folder import LOGS, PROMPTS, find_task_folder
from ostler.project.project import Project
from ostler.project.tasks.changes import read_patch
from ostler.secrets.redact import redact_text
from ostler.views.agent_work.attempt_log import LOG_SUFFIX, LogEntry, read_log
from ostler.views.agent_work.tool_ends import tool_ends
from ostler.views.atif import AttemptLog, make_trajectory
from ostler.views.feed import EventJson, feed_json
from ostler.views.task import AttemptView, TaskView
from ostler.views.task import as_json as task_json
from ostler.views.timeline import view_timeline

SCHEMA = "ostler.export/1"
_T = TypeVar("_T")


def export_lines(record: TaskRecord) -> Iterator[dict[str, Any]]:
    """Yield one object per line: header, request, events, prompts, log entries, reviews, diff and end."""
    count = 1
    for line in _iterate_lines(record):
        count += 1
        yield line
    yield {"kind": "end", "lines": count}


def _iterate_lines(record: TaskRecord) -> Iterator[dict[str, Any]]:
    head = {
        "schema": SCHEMA,
        "kind": "task",
        "version": __version__,
        "exported_at": format_rfc3339(time.time()),
    }
    yield head | {"task": record.task()}
    yield {"kind": "request", "request": record.request()}
    for event in record.events():
        yield {"kind": "event", "event": event}
    for prompt in record.prompts():
        yield {"kind": "prompt", **to_builtins(prompt)}
    for attempt in record.view.attempts:
        for entry in record.log_entries(attempt):
            yield {"kind": "log", "attempt": attempt.number, "entry": entry}
    for review in record.reviews():
        yield {"kind": "review", "review": review}
    if patch := record.patch():
        yield {"kind": "diff", "patch": patch}


def export_trajectory(record: TaskRecord) -> dict[str, Any]:
    """Return the record as an ATIF trajectory."""
    prompts = {prompt.attempt: prompt.text for prompt in record.prompts()}
    turns = [
        AttemptLog(
            prompt=prompts[attempt.number],
            model=attempt.model,
            began_at=datetime.fromisoformat(attempt.started_at).timestamp(),
            entries=record.log_entries(attempt),
        )
        for attempt in record.view.attempts
    ]
    return make_trajectory(record.task(), turns, record.events(), __version__)


class Prompt(Struct, frozen=True):
    attempt: int
    text: str
    system: str


class TaskRecord:
    """The record of one task, read lazily: a log may not fit in memory."""

    def __init__(self, project: Project, task: TaskId) -> None:
        self._project = project
        self._home = find_task_folder(project, task, *LOGS, *PROMPTS)
        self._root = str(project.layout.root)
        self.id = task
        self.view: TaskView = project.show(task)

    def task(self) -> dict[str, Any]:
        """Return the task as ostler.task/1."""
        return self._redact(task_json(self.view))

    def request(self) -> dict[str, Any]:
        return self._redact(to_builtins(self._project.task(self.id)))

    def events(self) -> Iterator[EventJson]:
        return (self._redact(feed_json(line)) for line in self._read_feed())

    def timeline(self) -> dict[str, Any]:
        return self._redact(to_builtins(view_timeline(self._read_feed(), time.time(), tool_ends(self._home))))

    def prompts(self) -> Iterator[Prompt]:
        for attempt in self.view.attempts:
            name = self._home / "prompts" / Path(attempt.transcript).stem
            text, system = _read(name.with_suffix(".md")), _read(name.with_suffix(".system.md"))
            yield Prompt(attempt.number, self._redact(text), self._redact(system))

    def log_entries(self, attempt: AttemptView) -> Iterator[LogEntry]:
        """Yield the log entries of one attempt, in order."""
        path = (self._home / attempt.transcript).with_suffix(LOG_SUFFIX)
        offset, page = -1, read_log(path, 0)
        while page.next > offset:
            yield from (self._redact(entry) for entry in page.entries)
            offset, page = page.next, read_log(path, page.next)

    def reviews(self) -> Iterator[dict[str, Any]]:
        """Yield the sent reviews; comments that are not sent are their author's alone."""
        return (self._redact(to_builtins(one)) for one in self._project.journal.reviews.list(self.id))

    def patch(self) -> str:
        """Return the changes as a patch; empty when there is nothing to compare."""
        try:
            return self._redact(read_patch(self._project, self.id).decode("utf-8", "replace"))
        except UsageError:
            return ""

    def _redact(self, value: _T) -> _T:
        """Return the value with each secret replaced by its kind."""
        match value:
            case str():
                return cast("_T", redact_text(value).replace(self._root, "."))
            case dict():
                found = cast("dict[str, Any]", value)
                return cast("_T", {key: self._redact(one) for key, one in found.items()})
            case list() | tuple():
                return cast("_T", [self._redact(one) for one in cast("list[Any]", value)])
            case _:
                return value

    def _read_feed(self) -> Iterator[FeedLine]:
        after = 0
        while lines := self._project.feed(after, self.id):
            yield from lines
            after = lines[-1].position


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
