"""ostler new"""

from __future__ import annotations

import os
from math import isfinite
from pathlib import Path

import click
from msgspec.structs import replace

from ostler.cli.options import json_option, open_project
from ostler.cli.task_input import read_task
from ostler.cli.terminal.output import print_hint, print_json
from ostler.cli.terminal.problems import print_warnings
from ostler.config.find import find_root
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.task import PRIORITY_NAMES, WEIGHTS, Input, Output, PriorityName, Task, Weight
from ostler.project.agents.inside_sandbox import InsideSandbox, find_inside_sandbox
from ostler.project.decisions.moments import parse_start
from ostler.project.preflight import check_new
from ostler.project.project import Project
from ostler.project.registry.known_projects import remember_project
from ostler.secrets.redact import redact_struct
from ostler.views.next_step import next_step
from ostler.views.task import as_json as task_json

_NOT_SET = (None, "", ())

_REDACTED = (
    "The task contains a secret: it is recorded as [redacted:KIND], and the agent does not get it. "
    "Pass it as a variable with sandbox.env_allow."
)


@click.command("new")
@click.argument("title", required=False)
@click.option("-d", "--description", metavar="TEXT", help="The task in full.")
@click.option("-f", "--file", metavar="FILE.md", help="Read the task from a Markdown file; - reads stdin.")
@click.option(
    "-w",
    "--weight",
    metavar="SIZE",
    type=click.Choice(WEIGHTS),
    help=f"The size, which selects the phases: {', '.join(WEIGHTS)}.  [default: small]",
)
@click.option(
    "--priority",
    metavar="P",
    type=click.Choice(PRIORITY_NAMES),
    help="P0, which runs first, to P4; or high, medium, low, background.  [default: P2]",
)
@click.option("--role", metavar="NAME", default="", help="The agent's role; ostler agent list shows them.")
@click.option("--skill", metavar="NAME", help="Write a document with this skill.")
@click.option(
    "--input", "inputs", metavar="PATH", multiple=True, help="An input file of the document; repeatable."
)
@click.option("--output", metavar="PATH", help="The path of the document.  [default: from the skill]")
@click.option(
    "--review", metavar="WHO", default="", help="The reviewer of the document: human, ai or a skill."
)
@click.option(
    "--tier", metavar="NAME", default="", help="The model tier: opus, sonnet, haiku or another of [tiers]."
)
@click.option("--executor", metavar="NAME", default="", help="The agent.  [default: from the settings]")
@click.option("--model", metavar="NAME", default="", help="The model.  [default: from the settings]")
@click.option(
    "--after",
    metavar="ID",
    multiple=True,
    help="Start from the work of this task, after it is completed; repeatable.",
)
@click.option("--order-only", is_flag=True, help="With --after: start from the target, not from that work.")
@click.option("--include-changes", is_flag=True, help="Start from a commit of your uncommitted changes.")
@click.option("--not-before", metavar="TIME", help="Earliest start: 18:30, 2030-01-31 or 2030-01-31T18:30Z.")
@click.option("--phases", metavar="NAMES", help="Phases, separated by commas.  [default: from the weight]")
@click.option("--feature", metavar="NAME", default="", help="The slot pool to run in.")
@click.option("--label", metavar="NAME", default="", help="Only workers with this label run it.")
@click.option("--budget-usd", metavar="USD", type=float, help="The maximum cost in US dollars.")
@click.option(
    "--timeout",
    "timeout_seconds",
    metavar="SECONDS",
    type=float,
    help="The timeout of one attempt.  [default: from the settings]",
)
@click.option(
    "--retries",
    "max_retries",
    metavar="N",
    type=int,
    help="Retries of a failed attempt on one model.  [default: from the settings]",
)
@click.option(
    "--allow-test-changes", is_flag=True, help="The work may remove, skip or change existing tests."
)
@json_option
def command(
    title: str | None,
    description: str | None,
    file: str | None,
    weight: Weight | None,
    priority: PriorityName | None,
    role: str,
    skill: str | None,
    inputs: tuple[str, ...],
    output: str | None,
    review: str,
    tier: str,
    executor: str,
    model: str,
    after: tuple[str, ...],
    order_only: bool,
    include_changes: bool,
    not_before: str | None,
    phases: str | None,
    feature: str,
    label: str,
    budget_usd: float | None,
    timeout_seconds: float | None,
    max_retries: int | None,
    allow_test_changes: bool,
    as_json: bool,
) -> None:
    """Create a task and print its id.

    With -f, TITLE is optional: the default is the title of the file's front matter or its first heading.
    Options override the file.
    """
    options = {
        "phases": _read_phases(phases),
        "feature": feature,
        "label": label,
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
        "order_only": order_only or None,
        "not_before": parse_start(not_before, "--not-before") if not_before is not None else None,
        "budget_usd": budget_usd,
        "timeout_seconds": timeout_seconds,
        "max_retries": max_retries,
        "allow_test_changes": allow_test_changes or None,
    }
    _require_text("--skill", skill)
    _require_text("--output", output)
    task = read_task(title, description, file)
    task = replace(task, **{name: value for name, value in options.items() if value not in _NOT_SET})
    validate_budget(task.budget_usd)
    if task.order_only and not task.after:
        raise UsageError("--order-only needs --after", "ostler new TITLE --after ID --order-only")
    if task.is_document and not task.sender:
        task = replace(task, sender="person")
    if (inside := find_inside_sandbox(os.environ, find_root(Path.cwd(), os.environ))) is not None:
        _propose(inside, task, include_changes, as_json)
        return
    with open_project(create=True) as project:
        warnings = check_new(project, task)
        added = add_task(project, task, include_changes)
        remember_project(project.layout.root, os.environ)
        print_warnings(warnings)
        if as_json:
            print_json(task_json(project.show(added.id)))
        else:
            click.echo(added.id)
            print_hint(_describe_next(project, added))


def _read_phases(text: str | None) -> tuple[str, ...]:
    """Return the names in --phases; an empty value is a mistake, not the phases of the weight."""
    if text is None:
        return ()
    if names := tuple(name.strip() for name in text.split(",") if name.strip()):
        return names
    raise UsageError("--phases names no phase", "list phases, such as --phases implement,test")


def _require_text(option: str, value: str | None) -> None:
    """Without the value, a script with an empty variable would create a task of another kind."""
    if value is not None and not value.strip():
        raise UsageError(f"{option} is empty", "omit it for a task without a document")


def _propose(inside: InsideSandbox, task: Task, include_changes: bool, as_json: bool) -> None:
    """Leave the task for the run, which records it as a proposal after the attempt."""
    if include_changes:
        raise UsageError("--include-changes works only outside the sandbox of a task", "omit it")
    proposal = inside.propose(task)
    if as_json:
        print_json({"schema": "ostler.proposal/1", "id": proposal, "proposed_by": inside.task})
    else:
        click.echo(proposal)
        print_hint("It is recorded when your turn ends. A person has to approve it before it starts.")


def _describe_next(project: Project, added: Task) -> str:
    view = project.show(added.id)
    if view.held:
        return "A person has to approve it before it starts."
    if added.not_before is not None:
        return f"Next: {next_step(view)}"
    return f"Next: ostler run {' '.join((*added.after, added.id))}"


def add_task(project: Project, task: Task, include_changes: bool) -> Task:
    """Add the task; warn about uncommitted changes that it does not include."""
    # Reading a status needs no git.
    from ostler.project.tasks.uncommitted import add_with_changes, describe_uncommitted  # noqa: PLC0415

    if redact_struct(task) is not task:
        print_hint(_REDACTED)
    if include_changes:
        return add_with_changes(project, task)
    added = project.add(task)
    if warning := describe_uncommitted(project, [added]):
        print_hint(warning)
    return added


def validate_budget(usd: float | None) -> float | None:
    if usd is not None and not (usd > 0 and isfinite(usd)):
        raise UsageError(f"invalid --budget-usd {usd:g}: expected more than 0", "omit it for no budget")
    return usd
