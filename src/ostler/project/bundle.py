"""Everything that is known of one task, for whoever reads it elsewhere.

Keys and passwords of known forms are not in it, and the project's own place is a dot.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import Struct, to_builtins

from ostler.errors import UsageError
from ostler.git.secrets import hide_secrets
from ostler.model.event import FeedLine
from ostler.model.ids import TaskId
from ostler.project.changes import changes_of
from ostler.project.project import Project
from ostler.views.feed import Line, feed_json
from ostler.views.story import Entry, read_story
from ostler.views.task import AttemptView, TaskView
from ostler.views.task import as_json as task_json
from ostler.views.timeline import view_timeline
from ostler.views.tool_ends import tool_ends

_T = TypeVar("_T")


class Prompt(Struct, frozen=True):
    attempt: int
    text: str
    system: str


class Bundle:
    """Read as it is asked for: a story may be longer than what fits in memory."""

    def __init__(self, project: Project, task: TaskId) -> None:
        self._project = project
        self._home = project.layout.task(task)
        self._root = str(project.layout.root)
        self.id = task
        self.view: TaskView = project.show(task)

    def task(self) -> dict[str, Any]:
        """ostler.task/1"""
        return self._hidden(task_json(self.view))

    def request(self) -> dict[str, Any]:
        return self._hidden(to_builtins(self._project.task(self.id)))

    def events(self) -> Iterator[Line]:
        return (self._hidden(feed_json(line)) for line in self._feed())

    def timeline(self) -> dict[str, Any]:
        return self._hidden(to_builtins(view_timeline(self._feed(), time.time(), tool_ends(self._home))))

    def prompts(self) -> Iterator[Prompt]:
        for attempt in self.view.attempts:
            name = self._home / "prompts" / Path(attempt.transcript).stem
            text, system = _read(name.with_suffix(".md")), _read(name.with_suffix(".system.md"))
            yield Prompt(attempt.number, self._hidden(text), self._hidden(system))

    def story(self, attempt: AttemptView) -> Iterator[Entry]:
        """What one attempt said and did, in order."""
        path = (self._home / attempt.transcript).with_suffix(".story.ndjson")
        offset, page = -1, read_story(path, 0)
        while page.next > offset:
            yield from (self._hidden(entry) for entry in page.entries)
            offset, page = page.next, read_story(path, page.next)

    def patch(self) -> str:
        """What it changed; empty where there is nothing to compare."""
        try:
            return self._hidden(changes_of(self._project, self.id).decode("utf-8", "replace"))
        except UsageError:
            return ""

    def _hidden(self, value: _T) -> _T:
        """The same value with the kind of each secret in its place, in every text of it."""
        match value:
            case str():
                return cast("_T", hide_secrets(value).replace(self._root, "."))
            case dict():
                found = cast("dict[str, Any]", value)
                return cast("_T", {key: self._hidden(one) for key, one in found.items()})
            case list() | tuple():
                return cast("_T", [self._hidden(one) for one in cast("list[Any]", value)])
            case _:
                return value

    def _feed(self) -> Iterator[FeedLine]:
        after = 0
        while lines := self._project.feed(after, self.id):
            yield from lines
            after = lines[-1].position


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
