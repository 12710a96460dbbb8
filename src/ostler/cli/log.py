"""ostler log"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click

from ostler.cli.out import emit, hint, json_option, open_project
from ostler.cli.story_lines import Paper, StoryLines, paper_of
from ostler.errors import UsageError
from ostler.views.log import Page, pages, read_from
from ostler.views.story import read_story, story_path


@click.command("log")
@click.argument("task", metavar="ID")
@click.option("-f", "--follow", is_flag=True, help="Go on as the agent works, until the task rests.")
@click.option("--attempt", metavar="N", type=click.IntRange(min=1), help="Only this attempt.")
@click.option("--full", is_flag=True, help="Everything that tools were asked and returned.")
@json_option
def command(task: str, follow: bool, attempt: int | None, full: bool, as_json: bool) -> None:
    """What the agent said and did, attempt by attempt."""
    with open_project() as project:
        found = project.resolve(task)
        directory = project.layout.task(found)
        reader = _JsonReader() if as_json else _Reader(paper_of(sys.stdout, full))
        while True:
            alive = follow and project.in_hand(found)
            for page in _chosen(directory, attempt, must_be_there=not alive):
                reader.read(page)
            sys.stdout.flush()
            if not alive:
                break
            time.sleep(0.1)
        if not reader.seen and not as_json:
            hint(f"{found} has not been started.  Next: ostler run {found}")


def _chosen(directory: Path, attempt: int | None, *, must_be_there: bool) -> list[Page]:
    found = pages(directory)
    chosen = [page for page in found if attempt in (None, page.number)]
    if found and not chosen and must_be_there:
        there = ", ".join(str(page.number) for page in found)
        raise UsageError(f"there is no attempt {attempt} of this task", f"there are: {there}")
    return chosen


class _Reader:
    """Prints each page from where it left off, drawn for a person."""

    def __init__(self, paper: Paper) -> None:
        self._paper = paper
        self._lines: dict[str, StoryLines] = {}
        self._printed = ""  # the page that the last line was of
        self.seen: dict[str, int] = {}

    def read(self, page: Page) -> None:
        """What has come to a page since, with an empty line between two pages."""
        lines = self._lines.setdefault(page.name, StoryLines(self._paper))
        offset = self.seen.get(page.name, 0)
        while (story := read_story(story_path(page), offset)).next != offset:
            for entry in story.entries:
                self._print(page, lines.draw(entry))
            offset = story.next
        self.seen[page.name] = offset

    def _print(self, page: Page, lines: Iterable[str]) -> None:
        for line in lines:
            if page.name != self._printed and self._printed:
                sys.stdout.write("\n")
            self._printed = page.name
            sys.stdout.write(f"{line}\n")


class _JsonReader:
    """Prints the same as the text of the pages, piece by piece (ostler.log/1)."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def read(self, page: Page) -> None:
        text, self.seen[page.name] = read_from(page, self.seen.get(page.name, 0))
        if text:
            emit({"schema": "ostler.log/1", "attempt": page.name, "number": page.number, "text": text})
