"""The pages that `ostler watch` opens: the log of a task, its diff, and the keys."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.text import Text

from ostler.cli.story_lines import Paper, StoryLines
from ostler.cli.text import printable, wants_colour
from ostler.cli.watching.press import Page
from ostler.errors import OstlerError
from ostler.model.ids import TaskId
from ostler.project.changes import changes_of
from ostler.project.project import Project
from ostler.views.log import pages
from ostler.views.story import Entry, read_story, story_path

_MOST_LINES = 20_000
_MOST_BYTES = 2_000_000  # of an attempt's story, when its log is opened
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_HELP = """\
Move
  j k  arrows        up and down
  Space  Ctrl-F/B    a page down, up
  g G                the first, the last
  /                  show only the tasks with these words; Esc shows all again

The chosen task
  Enter  l           its log, live
  d                  what it changed
  a                  approve: say yes where it waits for you
  x                  reject: say no, with the reason
  p                  pause; or resume one that rests, with a word for its agent
  c                  cancel
  r                  retry one that failed, was cancelled or waits

  q                  back; from the list: leave. Ctrl-C leaves from everywhere
  ?                  this page

Leaving stops no work, and nothing is started from here: agents work while
ostler run, ostler worker or ostler serve is there."""


class Pages:
    """Reads a page when it is opened, and a log on as it grows."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._open: tuple[Page, str, int] = ("list", "", 0)
        self._log = Log(Path(), Paper())
        self._lines: list[Text] = []

    @property
    def length(self) -> int:
        return len(self._lines)

    def read(self, page: Page, task: str, columns: int) -> tuple[str, list[Text]]:
        """The title and the lines of this page, as they are now."""
        if self._open != (page, task, columns):
            self._open = (page, task, columns)
            paper = Paper(columns, wants_colour(sys.stdout))
            self._log = Log(self._project.layout.task(TaskId(task)), paper)
            self._lines = self._first(page, TaskId(task))
        if page == "log":
            self._lines = self._log.read() or [Text(f"{task} has not been started.", style="dim")]
        return ("Keys" if page == "help" else f"{page} of {task}"), self._lines

    def _first(self, page: Page, task: TaskId) -> list[Text]:
        if page == "diff":
            return self._diff(task)
        return [Text(line) for line in _HELP.splitlines()] if page == "help" else []

    def _diff(self, task: TaskId) -> list[Text]:
        try:
            patch = changes_of(self._project, task).decode("utf-8", "replace").splitlines()
        except OstlerError as error:
            return [Text(printable(error.message), style="yellow")]
        more = [f"... {len(patch) - _MOST_LINES} more lines: ostler diff {task}"]
        shown = patch[:_MOST_LINES] + (more if len(patch) > _MOST_LINES else [])
        lines = [Text(printable(line).expandtabs(), _STYLES.get(line[:1], "")) for line in shown]
        return lines or [Text(f"{task} has changed nothing.", style="dim")]


class Log:
    """The story of a task as `ostler log` draws it, from where the last look ended."""

    def __init__(self, directory: Path, paper: Paper) -> None:
        self._directory = directory
        self._paper = paper
        self._stories: dict[str, StoryLines] = {}
        self._offsets: dict[str, int] = {}
        self._lines: list[Text] = []

    def read(self) -> list[Text]:
        """All lines; of a very long story the last ones."""
        for page in pages(self._directory):
            path = story_path(page)
            offset = self._offsets.get(page.name, _near_end(path))
            while (story := read_story(path, offset)).next != offset:
                for entry in story.entries:
                    self._draw(page.name, entry)
                offset = story.next
            self._offsets[page.name] = offset
        del self._lines[:-_MOST_LINES]
        return self._lines

    def _draw(self, name: str, entry: Entry) -> None:
        if name not in self._stories:
            self._stories[name] = StoryLines(self._paper)
            self._lines += [Text()] if self._lines else []
        self._lines += [Text.from_ansi(line) for line in self._stories[name].draw(entry)]


def _near_end(path: Path) -> int:
    try:
        return max(0, path.stat().st_size - _MOST_BYTES)
    except FileNotFoundError:
        return 0
