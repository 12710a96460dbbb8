"""The commands that accept completed tasks and run them at once: merge, publish and rebase."""

from __future__ import annotations

import os
from typing import get_args

import click
from msgspec import to_builtins

from ostler.cli.commands.work.run import run_tasks
from ostler.cli.event_loop import run_loop
from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import format_table, to_one_line
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.outcome import Outcome, combine_exit_codes, combine_with_refusal
from ostler.project.accepting.batch import (
    AcceptHow,
    AcceptLine,
    accept_task,
    describe_result,
    order_tasks,
)
from ostler.project.actions import ACTIONS
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from ostler.project.tasks.retarget import find_retargetable, list_stacked, reopen_stacked

_COLOURS = {"failed": "red", "refused": "red"}


def make_command(name: str) -> click.Command:
    """Return the command of one of these actions."""
    how = next(one for one in get_args(AcceptHow) if one == name)

    def run(tasks: tuple[str, ...], as_json: bool) -> int:
        with open_project() as project:
            return _accept(project, [project.resolve(text) for text in tasks], how, as_json)

    command = click.command(name, help=ACTIONS[name].details)(run)
    command.params = [click.Argument(["tasks"], nargs=-1, required=True, metavar="ID...")]
    return json_option(command)


def _accept(project: Project, named: list[TaskId], how: AcceptHow, as_json: bool) -> int:
    lines: list[AcceptLine] = []
    for task in order_tasks(project, named, how):
        line = accept_task(project, os.environ, task, how, lines, is_named=False)
        if line.result == "refused" and named == [task]:
            raise UsageError(line.message, line.hint)
        lines.append(run_accepted(project, task, how, as_json) if line.result.endswith("requested") else line)
    if how == "merge":
        for note in _check_stacked(project):
            print_hint(note)
    print_lines(lines, how, as_json)
    left = [project.state(line.id) for line in lines if line.result in ("needs you", "failed")]
    exit_code = combine_exit_codes([Outcome(one.task, one.status, one.code) for one in left])
    if not exit_code and any(line.is_open for line in lines):
        exit_code = 1 if any(line.result == "failed" for line in lines) else 4
    return combine_with_refusal(exit_code, any(line.result == "refused" for line in lines))


def run_accepted(project: Project, task: TaskId, how: AcceptHow, as_json: bool) -> AcceptLine:
    """Run a task whose work was accepted, with progress or quietly; return the result."""
    if as_json:
        run_loop(_run_quietly(project, task))
    else:
        run_loop(run_tasks(project, [task], as_json=False))
    return describe_result(project, task, how)


def _check_stacked(project: Project) -> list[str]:
    """Reopen tasks whose pull request is stacked on one that was merged; return messages."""
    stacked = list_stacked(project)
    merged, problem = find_retargetable(stacked)
    return [*reopen_stacked(project, merged), *filter(None, (problem,))]


async def _run_quietly(project: Project, task: TaskId) -> None:
    ostler = Ostler(project, os.environ)
    try:
        await ostler.run_all([task], details=False)
    finally:
        await ostler.close()


def print_lines(lines: list[AcceptLine], how: AcceptHow, as_json: bool) -> None:
    """Print the result of each task, as a table or as JSON."""
    if as_json:
        print_json({"schema": f"ostler.{how}/1", "tasks": [to_builtins(line) for line in lines]})
        return
    rows = [
        (line.id, line.result, (line.commit or "")[:10], line.gates, to_one_line(line.message))
        for line in lines
    ]
    colours = [_colour(line) for line in lines]
    print_text("\n" + format_table(("task", "result", "commit", "gates", ""), rows, colours))


def _colour(line: AcceptLine) -> str:
    if line.result.startswith("already"):
        return "dim"
    return _COLOURS.get(line.result, "yellow" if line.is_open else "green")
