"""ostler log"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.log_lines import LogRenderer, LogStyle, log_style_for
from ostler.cli.terminal.output import print_hint, print_json
from ostler.errors import UsageError
from ostler.project.decisions.dispose import describe_purged
from ostler.views.attempt_log import log_path, read_log
from ostler.views.transcript import Transcript, list_transcripts, read_from


@click.command("log")
@click.argument("task", metavar="ID")
@click.option("-f", "--follow", is_flag=True, help="Print new entries until the task stops.")
@click.option("--attempt", metavar="N", type=click.IntRange(min=1), help="Only this attempt.")
@click.option("--full", is_flag=True, help="Show the complete input and output of tools.")
@json_option
def command(task: str, follow: bool, attempt: int | None, full: bool, as_json: bool) -> None:
    """Show what a task's agent wrote and which tools it used, attempt by attempt."""
    with open_project() as project:
        found = project.resolve(task)
        if (state := project.state(found)).purged_at is not None:
            raise UsageError(f"{describe_purged(state)}: its logs are deleted", f"ostler show {found}")
        directory = project.layout.task(found)
        reader = _JsonPrinter() if as_json else _TextPrinter(log_style_for(sys.stdout, full))
        while True:
            alive = follow and project.is_claimed(found)
            for page in _select_pages(directory, attempt, required=not alive):
                reader.read(page)
            sys.stdout.flush()
            if not alive:
                break
            time.sleep(0.1)
        if not reader.seen and not as_json:
            print_hint(f"{found} has not been started.  Next: ostler run {found}")


def _select_pages(directory: Path, attempt: int | None, *, required: bool) -> list[Transcript]:
    found = list_transcripts(directory)
    selected = [page for page in found if attempt in (None, page.number)]
    if found and not selected and required:
        numbers = ", ".join(str(page.number) for page in found)
        raise UsageError(f"this task has no attempt {attempt}", f"its attempts: {numbers}")
    return selected


class _TextPrinter:
    """Prints the new entries of each attempt as text."""

    def __init__(self, style: LogStyle) -> None:
        self._style = style
        self._renderers: dict[str, LogRenderer] = {}
        # The attempt of the last printed line.
        self._printed = ""
        self.seen: dict[str, int] = {}

    def read(self, page: Transcript) -> None:
        """Print the entries since the last call, with an empty line between two attempts."""
        renderer = self._renderers.setdefault(page.name, LogRenderer(self._style))
        offset = self.seen.get(page.name, 0)
        while (part := read_log(log_path(page), offset)).next != offset:
            for entry in part.entries:
                self._print(page, renderer.render(entry))
            offset = part.next
        self.seen[page.name] = offset

    def _print(self, page: Transcript, lines: Iterable[str]) -> None:
        for line in lines:
            if page.name != self._printed and self._printed:
                sys.stdout.write("\n")
            self._printed = page.name
            sys.stdout.write(f"{line}\n")


class _JsonPrinter:
    """Prints the new text of each attempt as JSON (ostler.log/1)."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def read(self, page: Transcript) -> None:
        text, self.seen[page.name] = read_from(page, self.seen.get(page.name, 0))
        if text:
            print_json({"schema": "ostler.log/1", "attempt": page.name, "number": page.number, "text": text})
