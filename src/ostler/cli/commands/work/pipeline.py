"""ostler pipeline run | status | resume"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

import click
from msgspec import to_builtins

from ostler.cli.commands.work.run import run_tasks
from ostler.cli.event_loop import run_loop
from ostler.cli.options import JOBS, json_option, open_project
from ostler.cli.terminal.confinement import print_unconfined
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.problems import print_warnings
from ostler.cli.terminal.text import STATUS_COLOURS, format_count, format_reason, format_table, format_usd
from ostler.engine.pipeline import Node, Pipeline, PipelineStep, group_by_level
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.pipelines.file import find_pipeline
from ostler.project.pipelines.runs import (
    find_run,
    list_run_rows,
    load_pipeline,
    plan_run,
    reopen_run,
    start_run,
)
from ostler.project.preflight import check_ready
from ostler.project.project import Project
from ostler.project.registry.known_projects import remember_project
from ostler.views.pipeline import PipelineView, StepView, view_run

_DONE = (TaskStatus.COMPLETED, TaskStatus.APPROVED)


@click.group("pipeline")
def command() -> None:
    """Run pipelines: documents that are written step by step from one another."""


@command.command("run")
@click.argument("file", metavar="NAME|FILE")
@click.option("-g", "--goal", metavar="TEXT", default="", help="The goal, for steps without a description.")
@click.option(
    "-j", "--jobs", metavar="N", type=JOBS, help="Steps to run in parallel.  [default: from the file]"
)
@click.option("--executor", metavar="NAME", help="The agent, for steps without one.")
@click.option("--model", metavar="NAME", help="The model, for steps without one.")
@click.option("--later", is_flag=True, help="Create the tasks without running them.")
@click.option("--dry-run", is_flag=True, help="Show the steps without creating tasks.")
@json_option
def run(
    file: str,
    goal: str,
    jobs: int | None,
    executor: str | None,
    model: str | None,
    later: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Run a pipeline: .agents/pipelines/NAME.yaml, or any file."""
    flags = {"run.jobs": jobs, "run.executor": executor, "run.model": model}
    overrides = {key: value for key, value in flags.items() if value}
    with open_project(overrides, create=True) as project:
        pipeline = load_pipeline(project, find_pipeline(file, project.layout.root), goal)
        if dry_run:
            _print_plan(project, pipeline, as_json)
            return 0
        if not later:
            print_warnings(check_ready(project, plan_run(project, pipeline)[1]))
        name, tasks = start_run(project, pipeline)
        remember_project(project.layout.root, os.environ)
        if later:
            _print_later(name, tasks, as_json)
            return 0
        count = format_count(len(tasks), "task")
        print_hint(f"Started {name} with {count}; ostler pipeline status {name} shows its steps.")
        task_ids = [task.id for task in tasks]
        print_unconfined(project)
        return run_loop(
            run_tasks(project, task_ids, as_json, print_summary=True, jobs=jobs or pipeline.max_parallel)
        )


@command.command("status")
@click.argument("name", metavar="[RUN]", required=False)
@json_option
def status(name: str | None, as_json: bool) -> None:
    """List the runs of pipelines, or show the steps of one run."""
    with open_project() as project:
        views = _load_runs(project, find_run(project, name) if name else "")
    if as_json:
        print_json(
            to_builtins(views[0])
            if name
            else {"schema": "ostler.pipelines/1", "pipelines": to_builtins(views)}
        )
    elif name:
        _print_run(views[0])
    elif views:
        rows = [
            (view.run, str(view.status), _format_progress(view), format_usd(view.cost_usd)) for view in views
        ]
        print_text(
            format_table(
                ("run", "status", "steps", "cost"),
                rows,
                [STATUS_COLOURS.get(v.status, "") for v in views],
                (),
            )
        )
    else:
        print_text("No pipeline runs yet.  Next: ostler pipeline run NAME")


@command.command("resume")
@click.argument("name", metavar="RUN")
@click.option(
    "-j", "--jobs", metavar="N", type=JOBS, help="Steps to run in parallel.  [default: from the file]"
)
@json_option
def resume(name: str, jobs: int | None, as_json: bool) -> int:
    """Resume a run: retry its failed steps, and continue the paused and approved ones.

    Of a step whose gate could not run, only the gate runs again.
    """
    with open_project({"run.jobs": jobs} if jobs else {}) as project:
        found = find_run(project, name)
        max_parallel = max(row.max_parallel for row in list_run_rows(project, found))
        task_ids = reopen_run(project, found)
        print_warnings(check_ready(project, [project.task(task) for task in task_ids]))
        print_unconfined(project)
        return run_loop(run_tasks(project, task_ids, as_json, print_summary=True, jobs=jobs or max_parallel))


def _load_runs(project: Project, only: str) -> list[PipelineView]:
    names = [only] if only else dict.fromkeys(row.pipeline for row in project.journal.rows() if row.pipeline)
    return [view_run(name, [project.show(row.id) for row in list_run_rows(project, name)]) for name in names]


def _print_plan(project: Project, pipeline: Pipeline, as_json: bool) -> None:
    _, tasks = plan_run(project, pipeline)
    if as_json:
        print_json({"schema": "ostler.pipeline_plan/1", "name": pipeline.name, "tasks": to_builtins(tasks)})
        return
    after = "stops at the first failure" if pipeline.stop_on_failure else "continues after a failure"
    count = format_count(len(tasks), "task")
    print_text(f"{pipeline.name}: {count}, {pipeline.max_parallel} at once, {after}\n")
    print_text("\n".join(f"  {line}" for line in draw_graph(group_by_level(pipeline.steps), _describe_step)))


def _describe_step(step: PipelineStep) -> str:
    parts = [step.skill if step.skill != step.id else "", f"reviewed by {step.review}" if step.review else ""]
    return ", ".join(filter(None, (*parts, *(f"reads {one.path}" for one in step.inputs))))


def _print_later(name: str, tasks: Sequence[Task], as_json: bool) -> None:
    if as_json:
        print_json({"schema": "ostler.pipeline_run/1", "run": name, "tasks": [task.id for task in tasks]})
        return
    click.echo(name)
    count = format_count(len(tasks), "task")
    print_hint(f"{count}\nNext: ostler run --all   or   ostler pipeline resume {name}")


def _print_run(view: PipelineView) -> None:
    print_text(
        f"{view.run}  {view.status}  {_format_progress(view)}  {format_usd(view.cost_usd)}".rstrip() + "\n"
    )
    columns = max((len(_format_status(step)) for step in view.steps), default=0)
    lines = draw_graph(group_by_level(view.steps), lambda step: _describe_status(step, columns))
    print_text("\n".join(f"  {line}" for line in lines))
    if step := _find_next_step(view):
        print_text(f"\nNext: {step}")


def _format_status(step: StepView) -> str:
    return f"{step.status}, revision {step.revisions}" if step.revisions else str(step.status)


def _describe_status(step: StepView, columns: int) -> str:
    detail = step.output_path or "" if step.status in _DONE else format_reason(step.code, step.message)
    return f"{_format_status(step):<{columns}}  {detail}".rstrip()


def _format_progress(view: PipelineView) -> str:
    done = sum(step.status in _DONE for step in view.steps)
    return f"{done} of {len(view.steps)} done"


def _find_next_step(view: PipelineView) -> str:
    waiting = [step.task for step in view.steps if step.status is TaskStatus.NEEDS_REVIEW]
    if waiting:
        decide = f"ostler approve {waiting[0]}   or   ostler reject {waiting[0]} -m TEXT"
        return f"{decide}; then   ostler pipeline resume {view.run}"
    return "" if view.status in (*_DONE, TaskStatus.IN_PROGRESS) else f"ostler pipeline resume {view.run}"


_T = TypeVar("_T", bound=Node)


def draw_graph(rows: Sequence[Sequence[_T]], describe: Callable[[_T], str]) -> list[str]:
    """Return one line per step, in rows below the steps they depend on; parallel steps share a branch."""
    names = max((len(node.id) for row in rows for node in row), default=0)
    lines: list[str] = []
    above: set[str] = set()
    for row in rows:
        if lines:
            lines.append("│")
        for number, node in enumerate(row, 1):
            branch = "" if len(row) == 1 else "└─ " if number == len(row) else "├─ "
            # Steps that depend on all steps of the row above need no list.
            after = f"after {', '.join(node.after)}  " if set(node.after) != above else ""
            lines.append(f"{branch}{node.id:<{names + 3 - len(branch)}}  {after}{describe(node)}".rstrip())
        above = {node.id for node in row}
    return lines
