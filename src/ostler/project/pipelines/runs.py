"""Runs of pipelines: each is a set of tasks."""

from __future__ import annotations

import os

from ostler.engine.pipeline import Pipeline, PipelineStep, build_tasks
from ostler.errors import OstlerError, UsageError
from ostler.files.yaml import Document
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId, make_id_tail, make_task_id
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.skills.content import load_skill_content, make_output_path

_REOPENABLE = (TaskStatus.FAILED, TaskStatus.QUARANTINED, TaskStatus.CANCELLED, TaskStatus.ABANDONED)


def validate_skills(project: Project, pipeline: Pipeline, document: Document) -> None:
    """Raise with file and line for the first skill that is not usable."""
    for name in dict.fromkeys(name for step in pipeline.steps for name in (step.skill, step.review)):
        if name in ("", "human", "ai"):
            continue
        try:
            load_skill_content(name, project.layout.root, project.settings.skills)
        except OstlerError as error:
            path = next((path for path in document.lines if _get_value(document, path) == name), ())
            located = document.error(path, error.message)
            raise OstlerError(error.code, located.message, error.hint) from None


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
    raise UsageError(f"{text} is ambiguous: {', '.join(runs[:5])}", "use a longer prefix")


def reopen_run(project: Project, run: str) -> list[TaskId]:
    """Reopen the failed and stopped tasks of a run and return all its tasks."""
    rows = list_run_rows(project, run)
    for row in rows:
        if row.status in _REOPENABLE:
            project.act(row.id, "retry")
    return [row.id for row in rows]


def _get_value(document: Document, path: tuple[str | int, ...]) -> object:
    value = document.value
    for key in path:
        value = value[key]
    return value
