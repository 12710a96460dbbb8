"""ostler log"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from ostler.cli.out import emit, hint, json_option, open_project
from ostler.cli.text import printable
from ostler.views.log import Page, pages, read_from


@click.command("log")
@click.argument("task", metavar="ID")
@click.option("-f", "--follow", is_flag=True, help="Go on as the agent works, until the task rests.")
@json_option
def command(task: str, follow: bool, as_json: bool) -> None:
    """What the agent said and did, attempt by attempt."""
    with open_project() as project:
        found = project.resolve(task)
        directory = project.layout.task(found)
        seen: dict[str, int] = {}
        while True:
            alive = follow and project.in_hand(found)
            _print_new(directory, seen, as_json)
            if not alive:
                break
            time.sleep(0.1)
        if not seen and not as_json:
            hint(f"{found} has not been started.  Next: ostler run {found}")


def _print_new(directory: Path, seen: dict[str, int], as_json: bool) -> None:
    for page in pages(directory):
        text, seen[page.name] = read_from(page, seen.get(page.name, 0))
        if text:
            _print(page, text, as_json)
    sys.stdout.flush()


def _print(page: Page, text: str, as_json: bool) -> None:
    if as_json:
        emit({"schema": "ostler.log/1", "attempt": page.name, "text": text})
    else:
        sys.stdout.write("\n".join(printable(line) for line in text.split("\n")))
