"""The pages of `ostler watch`: a task's log, its diff, and the help."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.text import Text

from ostler.cli.terminal.log_lines import LogRenderer, LogStyle
from ostler.cli.terminal.text import escape_controls, use_colour
from ostler.cli.watch.handle_key import Page
from ostler.errors import OstlerError
from ostler.model.ids import TaskId
from ostler.project.project import Project
from ostler.project.tasks.changes import read_patch
from ostler.views.attempt_log import LogEntry, log_path, read_log
from ostler.views.transcript import list_transcripts

_MAX_LINES = 20_000
# The part of an attempt's log that is read when the page opens.
_MAX_BYTES = 2_000_000
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_HELP = """\
Move
  j k  arrows        up and down
  Space  Ctrl-F/B    a page down, up
  g G                first, last
  /                  filter by text; Esc clears the filter

Selected task
  Enter  l           show its log, live
  d                  show its diff
  a                  approve
  x                  reject, with a reason
  p                  pause; or resume, with feedback for the agent
  c                  cancel
  r                  retry

  q                  back; in the list: quit. Ctrl-C quits everywhere
  ?                  this help

This screen runs no tasks, and quitting stops none: use ostler run,
ostler worker or ostler serve."""


class Pages:
    """Reads a page when it is opened, and a log as it grows."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._open: tuple[Page, str, int] = ("list", "", 0)
        self._log = LogPage(Path(), LogStyle())
        self._lines: list[Text] = []

    @property
    def length(self) -> int:
        return len(self._lines)

    def read(self, page: Page, task: str, columns: int) -> tuple[str, list[Text]]:
        """Return the title and the current lines of a page."""
        if self._open != (page, task, columns):
            self._open = (page, task, columns)
            style = LogStyle(columns, use_colour(sys.stdout))
            self._log = LogPage(self._project.layout.task(TaskId(task)), style)
            self._lines = self._read_once(page, TaskId(task))
        if page == "log":
            self._lines = self._log.read() or [Text(f"{task} has not been started.", style="dim")]
        return ("Help" if page == "help" else f"{page} of {task}"), self._lines

    def _read_once(self, page: Page, task: TaskId) -> list[Text]:
        if page == "diff":
            return self._diff(task)
        return [Text(line) for line in _HELP.splitlines()] if page == "help" else []

    def _diff(self, task: TaskId) -> list[Text]:
        try:
            patch = read_patch(self._project, task).decode("utf-8", "replace").splitlines()
        except OstlerError as error:
            return [Text(escape_controls(error.message), style="yellow")]
        more = [f"... {len(patch) - _MAX_LINES} more lines: ostler diff {task}"]
        shown = patch[:_MAX_LINES] + (more if len(patch) > _MAX_LINES else [])
        lines = [Text(escape_controls(line).expandtabs(), _STYLES.get(line[:1], "")) for line in shown]
        return lines or [Text(f"{task} has no changes.", style="dim")]


class LogPage:
    """The log of a task as `ostler log` prints it; reads new entries only."""

    def __init__(self, directory: Path, style: LogStyle) -> None:
        self._directory = directory
        self._style = style
        self._renderers: dict[str, LogRenderer] = {}
        self._offsets: dict[str, int] = {}
        self._lines: list[Text] = []

    def read(self) -> list[Text]:
        """Return all lines; the last ones of a very long log."""
        for page in list_transcripts(self._directory):
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


def _start_offset(path: Path) -> int:
    try:
        return max(0, path.stat().st_size - _MAX_BYTES)
    except FileNotFoundError:
        return 0
