"""Runs of pipelines: each is a set of tasks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ostler.engine.pipeline import Pipeline, PipelineStep, build_tasks
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.yaml import Document
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId, explain_ambiguous, make_id_tail, make_task_id
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.inspection.executors import explain_unknown_executor
from ostler.project.inspection.setup import Setup
from ostler.project.inspection.task import explain_unknown_tier, find_input_errors
from ostler.project.pipelines.file import parse_pipeline, refuse_mistakes
from ostler.project.project import Project
from ostler.skills.content import load_skill_content, make_output_path
from ostler.skills.outputs import check_output

_REOPENABLE = (TaskStatus.FAILED, TaskStatus.QUARANTINED, TaskStatus.CANCELLED, TaskStatus.ABANDONED)


def load_pipeline(project: Project, path: Path, goal: str = "") -> Pipeline:
    """Return the pipeline of a file; raise with file and line of every mistake, skill and output."""
    parsed = parse_pipeline(path, goal)
    errors = find_step_errors(parsed.pipeline, parsed.document, project.setup())
    refuse_mistakes((*parsed.mistakes, *errors))
    return parsed.pipeline


def find_step_errors(pipeline: Pipeline, document: Document, setup: Setup) -> Iterator[OstlerError]:
    """Yield an error with file and line for each value of a step that is not usable."""
    root, settings = setup.root, setup.settings
    for path in dict.fromkeys(one.path for step in pipeline.steps for one in step.inputs):
        for error in find_input_errors(path):
            yield document.error(find_value(document, path), error.message)
    for name in dict.fromkeys(step.executor for step in pipeline.steps if step.executor):
        if reason := explain_unknown_executor(name, setup):
            yield document.error(find_value(document, name), reason)
    for path in (step.output.path for step in pipeline.steps if step.output and step.output.path):
        yield from _locate_error(document, path, partial(check_output, root, path, settings.documents))
    for tier in dict.fromkeys(step.tier for step in pipeline.steps if step.tier):
        if reason := explain_unknown_tier(tier, settings):
            yield document.error(find_value(document, tier), reason)
    for name in dict.fromkeys(name for step in pipeline.steps for name in (step.skill, step.review)):
        if name not in ("", "human", "ai"):
            yield from _locate_error(document, name, partial(load_skill_content, name, root, settings.skills))


def _locate_error(document: Document, value: str, check: Callable[[], object]) -> Iterator[OstlerError]:
    """Yield the error of a check with the file and line of the value."""
    try:
        check()
    except OstlerError as error:
        located = document.error(find_value(document, value), error.message)
        yield OstlerError(error.code, located.message, error.hint)


def find_value(document: Document, value: str) -> tuple[str | int, ...]:
    """Return the path of a value in a file; empty: it is not there."""
    return next((path for path in document.lines if _get_value(document, path) == value), ())


def plan_run(project: Project, pipeline: Pipeline, run: str = "") -> tuple[str, tuple[Task, ...]]:
    """Return the name of a new run and its tasks without adding them."""
    run = run or str(make_task_id(pipeline.name, make_id_tail(os.urandom(4))))

    def output_of(step: PipelineStep, task: TaskId) -> str:
        explicit = step.output.path if step.output else ""
        skill = load_skill_content(step.skill, project.layout.root, project.settings.skills)
        return explicit or make_output_path(skill, task, project.settings.documents)

    return run, build_tasks(pipeline, run, output_of)


def start_run(project: Project, pipeline: Pipeline) -> tuple[str, tuple[Task, ...]]:
    """Add all tasks of a new run, or none."""
    project.require_person("start pipelines")
    while True:
        run, tasks = plan_run(project, pipeline)
        if not project.journal.statuses(task.id for task in tasks):
            break
    with project.journal.transaction():
        return run, tuple(project.add(task) for task in tasks)


def list_run_rows(project: Project, run: str) -> list[TaskRow]:
    """Return the tasks of a run in the order of its steps."""
    return project.journal.pipeline_rows([run])


def find_run(project: Project, text: str) -> str:
    """Return the run with this name or name prefix."""
    runs = sorted({row.pipeline for row in project.journal.rows() if row.pipeline.startswith(text)})
    if text in runs or len(runs) == 1:
        return text if text in runs else runs[0]
    if not runs:
        raise UsageError(f"no pipeline run {text}", "run ostler pipeline status to see the runs")
    raise explain_ambiguous(text, runs)


def reopen_run(project: Project, run: str) -> list[TaskId]:
    """Reopen the failed, stopped and paused tasks of a run and return all its tasks.

    Of a task whose gate could not run, only the gate runs again.
    """
    rows = list_run_rows(project, run)
    for row in rows:
        if row.status in _REOPENABLE or project.state(row.id).code is Code.GATE_UNRUNNABLE:
            project.act(row.id, "retry")
        elif row.status == TaskStatus.PAUSED:
            project.act(row.id, "resume")
    return [row.id for row in rows]


def _get_value(document: Document, path: tuple[str | int, ...]) -> object:
    value = document.value
    for key in path:
        value = value[key]
    return value
