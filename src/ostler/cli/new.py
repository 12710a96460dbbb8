"""ostler new"""

from __future__ import annotations

import sys
from datetime import datetime
from math import isfinite
from pathlib import Path

import click

from ostler.cli.out import emit, hint, json_option, open_project
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.task import PRIORITIES, WEIGHTS, Priority, Task, Weight
from ostler.project.agents import known_executor
from ostler.prompt.role import find_agent
from ostler.views.task import as_json as task_json

_LARGEST_FILE = 10 * 1024 * 1024


@click.command("new")
@click.argument("title", required=False)
@click.option("-d", "--description", metavar="TEXT", help="What should be done, in full.")
@click.option("-f", "--file", metavar="FILE.md", help="The description from a file; - is stdin.")
@click.option(
    "--weight",
    metavar="SIZE",
    type=click.Choice(WEIGHTS),
    default="small",
    show_default=True,
    help=f"How large it is: {', '.join(WEIGHTS)}.",
)
@click.option(
    "--priority",
    metavar="P",
    type=click.Choice(PRIORITIES),
    default="P2",
    show_default=True,
    help="P0 to P3; P0 goes first.",
)
@click.option("--role", metavar="NAME", default="implementer", help="What kind of worker; ostler agent list.")
@click.option("--executor", metavar="NAME", default="", help="The agent; without it, as the settings say.")
@click.option("--model", metavar="NAME", default="", help="The model; without it, as the settings say.")
@click.option(
    "--after", metavar="ID", multiple=True, help="Begin once that task is completed; may be repeated."
)
@click.option(
    "--not-before", metavar="TIME", help="Begin at that time or later: 18:30, 2030-01-31, 2030-01-31T18:30Z."
)
@click.option(
    "--phases", metavar="NAMES", default="", help="Its phases, with commas; else those of its weight."
)
@click.option("--feature", metavar="NAME", default="", help="Run it in the slot pool of this name.")
@click.option("--budget-usd", metavar="USD", type=float, help="The most that it may cost, in dollars.")
@json_option
def command(
    title: str | None,
    description: str | None,
    file: str | None,
    weight: Weight,
    priority: Priority,
    role: str,
    executor: str,
    model: str,
    after: tuple[str, ...],
    not_before: str | None,
    phases: str,
    feature: str,
    budget_usd: float | None,
    as_json: bool,
) -> None:
    """Write a task down and print its id.

    TITLE may be left out with -f: the file's first heading is the title then.
    """
    heading, body = read_body(title, description, file)
    task = Task(
        heading,
        body,
        phases=tuple(name.strip() for name in phases.split(",") if name.strip()),
        feature=feature,
        weight=weight,
        priority=priority,
        role=role,
        executor=executor,
        model=model,
        after=tuple(TaskId(one) for one in after),
        not_before=read_time(not_before) if not_before is not None else None,
        budget_usd=checked_budget(budget_usd),
    )
    with open_project(create=True) as project:
        find_agent(role, project.layout.root)
        if executor:
            known_executor(project.settings, executor)
        added = project.add(task)
        if as_json:
            emit(task_json(project.show(added.id)))
        else:
            click.echo(added.id)
            hint(f"Next: ostler run {' '.join((*added.after, added.id))}")


def read_time(text: str) -> float:
    """A time of today, or a date with or without one; local where no zone is given."""
    today = datetime.now().date().isoformat()
    for said in (text.strip(), f"{today}T{text.strip()}"):
        try:
            return datetime.fromisoformat(said).timestamp()
        except (ValueError, OverflowError):
            continue
    raise UsageError(f"--not-before {text!r} is no time", "write 18:30, 2030-01-31 or 2030-01-31T18:30Z")


def checked_budget(usd: float | None) -> float | None:
    if usd is not None and not (usd > 0 and isfinite(usd)):
        raise UsageError(f"--budget-usd {usd:g}: a budget is more than 0", "leave it out for no limit")
    return usd


def read_body(title: str | None, description: str | None, file: str | None) -> tuple[str, str]:
    """Title and body of a task from what the command line gave."""
    if description is not None and file is not None:
        raise UsageError("give the description with -d or with -f, not both")
    body = read_text(file) if file is not None else description or ""
    if title:
        return title, body
    if file is None:
        raise UsageError("a task needs a title", 'ostler new "Fix the login redirect"')
    first, _, rest = body.lstrip("\ufeff \r\n").partition("\n")
    heading = first.lstrip("#").strip()
    if not heading:
        raise UsageError(
            f"{file} has no first line to take the title from", "give a title: ostler new TITLE -f FILE"
        )
    return heading, rest.strip()


def read_text(file: str) -> str:
    """A text file, or stdin; one sentence when it cannot be used."""
    try:
        data = sys.stdin.buffer.read(_LARGEST_FILE + 1) if file == "-" else _read(Path(file))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    if len(data) > _LARGEST_FILE:
        raise UsageError(
            f"{file} is larger than {_LARGEST_FILE // 2**20} MiB", "put the material into the project"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 (byte {error.start})", "save it as UTF-8") from None


def _read(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a regular file")
    with path.open("rb") as opened:
        return opened.read(_LARGEST_FILE + 1)
