"""ostler new"""

from __future__ import annotations

from math import isfinite

import click
from msgspec.structs import replace

from ostler.cli.given import read_given
from ostler.cli.out import emit, hint, json_option, open_project
from ostler.clock import read_time
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.task import PRIORITIES, WEIGHTS, Input, Output, Priority, Weight
from ostler.project.agents import known_executor
from ostler.prompt.role import find_agent
from ostler.views.task import as_json as task_json

_NOT_SAID = (None, "", ())


@click.command("new")
@click.argument("title", required=False)
@click.option("-d", "--description", metavar="TEXT", help="What should be done, in full.")
@click.option("-f", "--file", metavar="FILE.md", help="The task from a Markdown file; - is stdin.")
@click.option(
    "--weight",
    metavar="SIZE",
    type=click.Choice(WEIGHTS),
    show_default="small",
    help=f"How large it is: {', '.join(WEIGHTS)}.",
)
@click.option(
    "--priority",
    metavar="P",
    type=click.Choice(PRIORITIES),
    show_default="P2",
    help="P0 to P3; P0 goes first.",
)
@click.option("--role", metavar="NAME", default="", help="What kind of worker; ostler agent list.")
@click.option("--skill", metavar="NAME", default="", help="Write a document with this skill.")
@click.option(
    "--input", "inputs", metavar="PATH", multiple=True, help="A file that the document is made from."
)
@click.option("--output", metavar="PATH", default="", help="Where the document goes; else as the skill says.")
@click.option("--review", metavar="WHO", default="", help="Who looks at it: human, ai, or a skill.")
@click.option("--tier", metavar="NAME", default="", help="opus, sonnet, haiku, or another of [tiers].")
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
    weight: Weight | None,
    priority: Priority | None,
    role: str,
    skill: str,
    inputs: tuple[str, ...],
    output: str,
    review: str,
    tier: str,
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

    TITLE may be left out with -f: the file's front matter or first heading has it then.
    Options win over what the file says.
    """
    said = {
        "phases": tuple(name.strip() for name in phases.split(",") if name.strip()),
        "feature": feature,
        "weight": weight,
        "priority": priority,
        "role": role,
        "skill": skill,
        "inputs": tuple(Input(path) for path in inputs),
        "output": Output(output) if output else None,
        "review": review,
        "tier": tier,
        "executor": executor,
        "model": model,
        "after": tuple(TaskId(one) for one in after),
        "not_before": read_moment(not_before) if not_before is not None else None,
        "budget_usd": budget_usd,
    }
    given = read_given(title, description, file)
    task = replace(given, **{name: value for name, value in said.items() if value not in _NOT_SAID})
    checked_budget(task.budget_usd)
    if task.is_document and not task.sender:
        task = replace(task, sender="person")
    with open_project(create=True) as project:
        find_agent(task.role, project.layout.root)
        if task.executor:
            known_executor(project.settings, task.executor)
        added = project.add(task)
        if as_json:
            emit(task_json(project.show(added.id)))
        else:
            click.echo(added.id)
            hint(f"Next: ostler run {' '.join((*added.after, added.id))}")


def read_moment(text: str) -> float:
    try:
        return read_time(text)
    except ValueError:
        usage = "write 18:30, 2030-01-31 or 2030-01-31T18:30Z"
        raise UsageError(f"--not-before {text!r} is no time", usage) from None


def checked_budget(usd: float | None) -> float | None:
    if usd is not None and not (usd > 0 and isfinite(usd)):
        raise UsageError(f"--budget-usd {usd:g}: a budget is more than 0", "leave it out for no limit")
    return usd
