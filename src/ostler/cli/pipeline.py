"""ostler pipeline run | status | resume"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click
from msgspec import to_builtins

from ostler.cli.jobs import JOBS
from ostler.cli.out import emit, hint, json_option, open_project, say
from ostler.cli.pipeline_graph import draw
from ostler.cli.run import run_tasks
from ostler.cli.text import STATUS_COLOURS, money, reason, table
from ostler.engine.pipeline import Pipeline, PipelineStep, levels
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.pipeline_file import find_pipeline, read_pipeline
from ostler.project.pipelines import check_skills, find_run, plan_run, reopen, rows_of, start_run
from ostler.project.preflight import check_ready
from ostler.project.project import Project
from ostler.views.pipeline import PipelineView, StepView, view_run

_DONE = (TaskStatus.COMPLETED, TaskStatus.APPROVED)


@click.group("pipeline")
def command() -> None:
    """Documents that are made from one another, step by step."""


@command.command("run")
@click.argument("file", metavar="NAME|FILE")
@click.option(
    "-g", "--goal", metavar="TEXT", default="", help="What it is about, for steps that say nothing."
)
@click.option("-j", "--jobs", metavar="N", type=JOBS, help="Steps at once; without it, as the file says.")
@click.option("--executor", metavar="NAME", help="The agent, for steps that name none.")
@click.option("--model", metavar="NAME", help="The model, for steps that name none.")
@click.option("--later", is_flag=True, help="Write its tasks down and start nothing.")
@click.option("--dry-run", is_flag=True, help="Draw its steps and start nothing.")
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
    """Begin a pipeline: .agents/pipelines/NAME.yaml, or any file."""
    flags = {"run.jobs": jobs, "run.executor": executor, "run.model": model}
    given = {key: value for key, value in flags.items() if value}
    with open_project(given, create=True) as project:
        pipeline, document = read_pipeline(find_pipeline(file, project.layout.root), goal)
        check_skills(project, pipeline, document)
        if dry_run:
            _print_plan(project, pipeline, as_json)
            return 0
        if not later:
            check_ready(project, plan_run(project, pipeline)[1])
        name, tasks = start_run(project, pipeline)
        if later:
            _print_later(name, tasks, as_json)
            return 0
        hint(f"{name}: {len(tasks)} tasks; ostler pipeline status {name}")
        wanted = [task.id for task in tasks]
        return asyncio.run(run_tasks(project, wanted, as_json, conclude=True, jobs=jobs or pipeline.at_once))


@command.command("status")
@click.argument("name", metavar="[RUN]", required=False)
@json_option
def status(name: str | None, as_json: bool) -> None:
    """Where the runs of pipelines stand, or one of them step by step."""
    with open_project() as project:
        views = _runs(project, find_run(project, name) if name else "")
    if as_json:
        emit(
            to_builtins(views[0])
            if name
            else {"schema": "ostler.pipelines/1", "pipelines": to_builtins(views)}
        )
    elif name:
        _print_run(views[0])
    elif views:
        rows = [(view.run, str(view.status), _progress(view), money(view.cost_usd)) for view in views]
        say(
            table(
                ("run", "status", "steps", "cost"),
                rows,
                [STATUS_COLOURS.get(v.status, "") for v in views],
                (),
            )
        )
    else:
        say("No pipeline has been run here.\n\nNext: ostler pipeline run NAME")


@command.command("resume")
@click.argument("name", metavar="RUN")
@click.option("-j", "--jobs", metavar="N", type=JOBS, help="Steps at once; without it, as the file says.")
@json_option
def resume(name: str, jobs: int | None, as_json: bool) -> int:
    """Go on with a run: what failed is opened again, what a person has approved goes on."""
    with open_project({"run.jobs": jobs} if jobs else {}) as project:
        found = find_run(project, name)
        at_once = max(row.at_once for row in rows_of(project, found))
        wanted = reopen(project, found)
        check_ready(project, [project.task(task) for task in wanted])
        return asyncio.run(run_tasks(project, wanted, as_json, conclude=True, jobs=jobs or at_once))


def _runs(project: Project, only: str) -> list[PipelineView]:
    names = [only] if only else dict.fromkeys(row.pipeline for row in project.journal.rows() if row.pipeline)
    return [view_run(name, [project.show(row.id) for row in rows_of(project, name)]) for name in names]


def _print_plan(project: Project, pipeline: Pipeline, as_json: bool) -> None:
    _, tasks = plan_run(project, pipeline)
    if as_json:
        emit({"schema": "ostler.pipeline_plan/1", "name": pipeline.name, "tasks": to_builtins(tasks)})
        return
    after = "stops at the first failure" if pipeline.stops else "goes on after a failure"
    say(f"{pipeline.name}: {len(tasks)} tasks, {pipeline.at_once} at once, {after}\n")
    say("\n".join(f"  {line}" for line in draw(levels(pipeline.steps), _about)))


def _about(step: PipelineStep) -> str:
    parts = [step.skill if step.skill != step.id else "", f"reviewed by {step.review}" if step.review else ""]
    return ", ".join(filter(None, (*parts, *(f"reads {one.path}" for one in step.inputs))))


def _print_later(name: str, tasks: Sequence[Task], as_json: bool) -> None:
    if as_json:
        emit({"schema": "ostler.pipeline_run/1", "run": name, "tasks": [task.id for task in tasks]})
        return
    click.echo(name)
    hint(f"{len(tasks)} tasks\nNext: ostler run --all   or   ostler pipeline resume {name}")


def _print_run(view: PipelineView) -> None:
    say(f"{view.run}  {view.status}  {_progress(view)}  {money(view.cost_usd)}".rstrip() + "\n")
    say("\n".join(f"  {line}" for line in draw(levels(view.steps), _standing)))
    if step := _next(view):
        say(f"\nNext: {step}")


def _standing(step: StepView) -> str:
    again = f", revision {step.revisions}" if step.revisions else ""
    told = step.output_path or "" if step.status in _DONE else reason(step.code, step.message)
    return f"{step.status}{again}  {told}".rstrip()


def _progress(view: PipelineView) -> str:
    done = sum(step.status in _DONE for step in view.steps)
    return f"{done} of {len(view.steps)} done"


def _next(view: PipelineView) -> str:
    waiting = [step.task for step in view.steps if step.status is TaskStatus.NEEDS_REVIEW]
    if waiting:
        return f"ostler approve {waiting[0]}   or   ostler reject {waiting[0]} -m TEXT"
    return "" if view.status in (*_DONE, TaskStatus.IN_PROGRESS) else f"ostler pipeline resume {view.run}"
