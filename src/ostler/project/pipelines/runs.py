"""Runs of pipelines: each is a set of tasks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ostler.engine.pipeline import Pipeline, PipelineStep, build_tasks
from ostler.errors import Code, OstlerError, UsageError
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId, explain_ambiguous, make_id_tail, make_task_id
from ostler.model.status import TaskStatus
from ostler.model.task import Task, explain_invalid_label
from ostler.project.inspection.executors import explain_unknown_executor
from ostler.project.inspection.setup import Setup
from ostler.project.inspection.task import explain_unknown_tier, find_input_errors
from ostler.project.pipelines.file import ParsedPipeline, find_pipeline, parse_pipeline, refuse_mistakes
from ostler.project.project import Project
from ostler.project.tasks.files.edited_file import refuse_state_edit
from ostler.skills.content import load_skill_content, make_output_path
from ostler.skills.outputs import check_output

_REOPENABLE = (TaskStatus.FAILED, TaskStatus.QUARANTINED, TaskStatus.CANCELLED, TaskStatus.ABANDONED)


def load_pipeline(project: Project, path: Path, goal: str = "") -> Pipeline:
    """Return the pipeline of a file; raise with file and line of every mistake, skill and output."""
    parsed = parse_pipeline(path, goal)
    errors = find_step_errors(parsed, project.setup())
    refuse_mistakes((*parsed.mistakes, *errors))
    return parsed.pipeline


def find_step_errors(parsed: ParsedPipeline, setup: Setup) -> Iterator[OstlerError]:
    """Yield an error with file and line for each value of a step that is not usable.

    A mistake of the pipeline, which its steps inherit, is reported once.
    """
    reported: set[str] = set()
    outputs: dict[str, str] = {}
    for step in parsed.pipeline.steps:
        for error in (*_find_errors_of(step, parsed, setup), *_find_same_output(step, parsed, outputs)):
            if error.message not in reported:
                reported.add(error.message)
                yield error


def _find_errors_of(step: PipelineStep, parsed: ParsedPipeline, setup: Setup) -> Iterator[OstlerError]:
    root, settings = setup.root, setup.settings
    for number, one in enumerate(step.inputs):
        for error in find_input_errors(one.path):
            yield parsed.error(step.id, "inputs", error.message, number)
    if step.executor and (reason := explain_unknown_executor(step.executor, setup)):
        yield parsed.error(step.id, "executor", reason)
    if step.tier and (reason := explain_unknown_tier(step.tier, settings)):
        yield parsed.error(step.id, "tier", reason)
    if step.label and (reason := explain_invalid_label(step.label)):
        yield parsed.error(step.id, "label", reason)
    checks: dict[str, Callable[[], object]] = {
        "skill": partial(load_skill_content, step.skill, root, settings.skills)
    }
    if step.output and step.output.path:
        checks["output"] = partial(check_output, root, step.output.path, settings.documents)
    if step.review not in ("", "human", "ai"):
        checks["review"] = partial(load_skill_content, step.review, root, settings.skills)
    for key, check in checks.items():
        try:
            check()
        except OstlerError as error:
            yield OstlerError(error.code, parsed.error(step.id, key, error.message).message, error.hint)


def _find_same_output(
    step: PipelineStep, parsed: ParsedPipeline, outputs: dict[str, str]
) -> Iterator[OstlerError]:
    """Yield an error for the output of an earlier step: it would replace the input of later steps."""
    path = step.output.path if step.output else ""
    if path and (other := outputs.setdefault(os.path.normpath(path), step.id)) != step.id:
        yield parsed.error(step.id, "output", f"{path} is the output of the step {other}, too")


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


def start_named_run(project: Project, name: str, goal: str) -> str:
    """Start a pipeline, named or by path; return the name of the run."""
    path = find_pipeline(name, project.layout.root)
    return start_run(project, load_pipeline(project, path, goal))[0]


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
            refuse_state_edit(project, row.id, "resume")
            project.act(row.id, "resume")
    return [row.id for row in rows]
