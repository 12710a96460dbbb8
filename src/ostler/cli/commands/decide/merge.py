"""ostler merge"""

from __future__ import annotations

import asyncio
import os

import click
from msgspec import to_builtins

from ostler.cli.commands.work.run import run_tasks
from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import format_table, to_one_line
from ostler.model.ids import TaskId
from ostler.model.outcome import Outcome, combine_exit_codes
from ostler.model.status import TaskStatus
from ostler.project.ostler import Ostler
from ostler.project.project import Project
from ostler.project.tasks.merging import (
    MergeLine,
    describe_merge,
    find_unmerged_predecessor,
    is_merged,
    order_for_merge,
)
from ostler.project.tasks.retarget import find_retargetable, list_stacked, reopen_stacked

_COLOURS = {"merged": "green", "already merged": "dim", "failed": "red", "needs you": "yellow"}
_DONE = ("merged", "already merged")


@click.command("merge")
@click.argument("tasks", nargs=-1, required=True, metavar="ID...")
@json_option
def command(tasks: tuple[str, ...], as_json: bool) -> int:
    """Merge completed tasks into their target, in the order of their dependencies.

    Tasks that they build on are merged first. A task is rebased if the target moved, and its gates are
    asked on the merged commit; no agent runs. A target that is checked out is fast-forwarded if the
    checkout is clean.
    """
    with open_project() as project:
        named = [project.resolve(text) for text in tasks]
        lines: list[MergeLine] = []
        for task in order_for_merge(project, named):
            lines.append(_merge_task(project, task, lines, as_json))
        for note in _check_stacked(project):
            print_hint(note)
        _print_lines(lines, as_json)
        left = [project.state(line.id) for line in lines if line.result not in _DONE]
    failed = any(line.result == "failed" for line in lines)
    exit_code = combine_exit_codes([Outcome(one.task, one.status, one.code) for one in left])
    return exit_code or (1 if failed else bool(left) * 4)


def _merge_task(project: Project, task: TaskId, earlier: list[MergeLine], as_json: bool) -> MergeLine:
    failed = [line.id for line in earlier if line.result not in _DONE]
    if waits_for := find_unmerged_predecessor(project, task, failed):
        state = project.state(task)
        return MergeLine(task, "not merged", state.commit, "", f"it builds on {waits_for}")
    if is_merged(project, task) and project.state(task).status is TaskStatus.COMPLETED:
        return MergeLine(task, "already merged", project.state(task).commit, "", "")
    project.act(task, "merge")
    if as_json:
        asyncio.run(_run_quietly(project, task))
    else:
        asyncio.run(run_tasks(project, [task], as_json=False))
    return describe_merge(project, task)


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


def _print_lines(lines: list[MergeLine], as_json: bool) -> None:
    if as_json:
        print_json({"schema": "ostler.merge/1", "tasks": [to_builtins(line) for line in lines]})
        return
    rows = [
        (line.id, line.result, (line.commit or "")[:10], line.gates, to_one_line(line.message))
        for line in lines
    ]
    colours = [_COLOURS.get(line.result, "") for line in lines]
    print_text("\n" + format_table(("task", "result", "commit", "gates", ""), rows, colours))
