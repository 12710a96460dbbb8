"""The pages of `ostler watch`: a task's log, its diff, and the help."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path

from rich.text import Text

from ostler.cli.review.changes import read_changes
from ostler.cli.review.earlier import place_briefly, place_earlier
from ostler.cli.review.render import MARGIN_COLUMNS, render_changes, render_review
from ostler.cli.terminal.log_lines import LogRenderer, LogStyle
from ostler.cli.terminal.markdown import break_line, wrap_line
from ostler.cli.terminal.text import escape_controls, use_colour
from ostler.cli.watch.handle_key import Page
from ostler.errors import OstlerError
from ostler.model.ids import TaskId
from ostler.project.artifacts.task_folder import LOGS, find_task_folder
from ostler.project.project import Project
from ostler.project.reviews.view import show_review
from ostler.views.agent_work.attempt_log import LogEntry, log_path, read_log
from ostler.views.agent_work.transcript import list_transcripts

_MAX_LINES = 20_000
# The part of an attempt's log that is read when the page opens.
_MAX_BYTES = 2_000_000
_HELP_COLUMN = 21  # where the texts of keys begin
_HELP = """\
Move
  j k  arrows        up and down
  Space  Ctrl-F/B    a page down, up
  g G                first, last
  /                  filter by text; Esc clears the filter

Selected task
  Enter              open its review, if it waits for one; else its log
  l                  show its log, live
  d                  show its changes, with the comments of reviews
  a                  approve
  m                  approve and merge
  s  x               send back, with a message and all saved comments
  v                  review in $EDITOR: comment on lines (ostler review)
  r                  reply to it or resume it; a failed task: retry
  u                  undo the last decision: it is sent after 5 seconds, with
                     the next decision, or when you quit with q
  p                  pause; or resume
  c                  cancel

  q                  back; in the list: quit. Ctrl-C quits everywhere
  ?                  this help

Keys act only on the task that you selected. When it leaves the list, no other
task takes its place. This screen runs no tasks, and quitting stops none: use
ostler run, ostler worker or ostler serve."""


class Pages:
    """Reads a page when it is opened, and a log as it grows."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._open: tuple[Page, str, int] = ("list", "", 0)
        self._log = LogPage(Path, LogStyle())
        self._lines: list[Text] = []
        self.version: str | None = None  # of the work on the open page; null: it shows no work

    @property
    def length(self) -> int:
        return len(self._lines)

    def read(self, page: Page, task: str, columns: int) -> tuple[str, list[Text]]:
        """Return the title and the current lines of a page."""
        if self._open != (page, task, columns):
            self._open, self.version = (page, task, columns), None
            style = LogStyle(columns, use_colour(sys.stdout))
            self._log = LogPage(partial(find_task_folder, self._project, TaskId(task), *LOGS), style)
            self._lines = self._read_once(page, TaskId(task), columns)
        if page == "log":
            self._lines = self._log.read() or [Text(f"{task} has not been started.", style="dim")]
        return ("Help" if page == "help" else f"{page} of {task}"), self._lines

    def forget(self) -> None:
        """Read the open page again the next time."""
        self._open = ("list", "", 0)

    def _read_once(self, page: Page, task: TaskId, columns: int) -> list[Text]:
        if page in ("diff", "review"):
            return self._changes(page, task, columns)
        if page != "help":
            return []
        return [Text(part) for line in _HELP.splitlines() for part in _break_help(line, columns)]

    def _changes(self, page: Page, task: TaskId, columns: int) -> list[Text]:
        """Return the changes with the comments of reviews; above those of a review are its facts."""
        colour = use_colour(sys.stdout)
        try:
            view = show_review(self._project, task)
            shown = read_changes(self._project, task)
            lines = [*render_review(view, shown.summary, columns, colour), ""] if page == "review" else []
            place = place_briefly if page == "review" else place_earlier
            lines += render_changes(shown, place(view, shown), columns, colour)
        except OstlerError as error:
            return [Text(escape_controls(error.message), style="yellow")]
        self.version = view.version
        if len(lines) > _MAX_LINES:
            lines[_MAX_LINES:] = [f"... {len(lines) - _MAX_LINES} more lines: ostler diff {task}"]
        texts = (Text.from_ansi(line.expandtabs()) for line in lines)
        return [part for text in texts for part in _break_text(text, columns)]


class LogPage:
    """The log of a task as `ostler log` prints it; reads new entries only."""

    def __init__(self, find_folder: Callable[[], Path], style: LogStyle) -> None:
        self._find_folder = find_folder
        self._style = style
        self._renderers: dict[str, LogRenderer] = {}
        self._offsets: dict[str, int] = {}
        self._lines: list[Text] = []

    def read(self) -> list[Text]:
        """Return all lines; the last ones of a very long log."""
        for page in list_transcripts(self._find_folder()):
            path = log_path(page)
            offset = self._offsets.get(page.name, _start_offset(path))
            while (part := read_log(path, offset)).next != offset:
                for entry in part.entries:
                    self._draw(page.name, entry)
                offset = part.next
            self._offsets[page.name] = offset
        del self._lines[:-_MAX_LINES]
        return self._lines

    def _draw(self, name: str, entry: LogEntry) -> None:
        if name not in self._renderers:
            self._renderers[name] = LogRenderer(self._style)
            self._lines += [Text()] if self._lines else []
        self._lines += [Text.from_ansi(line) for line in self._renderers[name].render(entry)]


def _break_text(text: Text, columns: int) -> Iterator[Text]:
    """Yield parts that fit the width; further ones begin below the code of the first."""
    if text.cell_len <= columns:
        yield text
        return
    first = next(break_line(text.plain, columns))
    margin = " " * min(MARGIN_COLUMNS, columns // 2)
    rest = [len(part) for part in break_line(text.plain[len(first) :], columns - len(margin))]
    head, *parts = text.divide(accumulate((len(first), *rest[:-1])))
    yield head
    yield from (Text(margin) + part for part in parts)


def _break_help(line: str, columns: int) -> Iterator[str]:
    """Yield the line in parts that fit the width; further ones are indented."""
    margin = min(_HELP_COLUMN, columns // 3) if line.startswith(" ") else 0
    first, *rest = wrap_line(line, columns)
    yield first
    for part in wrap_line(" ".join(rest), columns - margin) if rest else ():
        yield " " * margin + part


def _start_offset(path: Path) -> int:
    try:
        return max(0, path.stat().st_size - _MAX_BYTES)
    except FileNotFoundError:
        return 0
