"""Pipelines of a project: one is begun as a set of tasks, looked at, and opened again."""

from __future__ import annotations

import os

from ostler.engine.pipeline import Pipeline, PipelineStep, tasks_of
from ostler.errors import OstlerError, UsageError
from ostler.files.yaml import Document
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId, tail_of, task_id
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.prompt.skill import load_skill_content, output_path

_OPENS = (TaskStatus.FAILED, TaskStatus.QUARANTINED, TaskStatus.CANCELLED, TaskStatus.ABANDONED)


def check_skills(project: Project, pipeline: Pipeline, document: Document) -> None:
    """Raise with file and line for the first skill that cannot be used."""
    for name in dict.fromkeys(word for step in pipeline.steps for word in (step.skill, step.review)):
        if name in ("", "human", "ai"):
            continue
        try:
            load_skill_content(name, project.layout.root, project.settings.skills)
        except OstlerError as error:
            said = next((path for path in document.lines if _value(document, path) == name), ())
            told = document.error(said, error.message)
            raise OstlerError(error.code, told.message, error.hint) from None


def plan_run(project: Project, pipeline: Pipeline, run: str = "") -> tuple[str, tuple[Task, ...]]:
    """The name of a new run, drawn where none is given, and its tasks; nothing is written."""
    run = run or str(task_id(pipeline.name, tail_of(os.urandom(4))))

    def output_of(step: PipelineStep, task: TaskId) -> str:
        said = step.output.path if step.output else ""
        skill = load_skill_content(step.skill, project.layout.root, project.settings.skills)
        return said or output_path(skill, task, project.settings.documents)

    return run, tasks_of(pipeline, run, output_of)


def start_run(project: Project, pipeline: Pipeline) -> tuple[str, tuple[Task, ...]]:
    """Write all tasks of a new run down, or none."""
    while True:
        run, tasks = plan_run(project, pipeline)
        if not project.journal.statuses(task.id for task in tasks):
            break
    with project.journal.transaction():
        return run, tuple(project.add(task) for task in tasks)


def rows_of(project: Project, run: str) -> list[TaskRow]:
    """The tasks of a run, in the order of its steps."""
    return project.journal.pipeline_rows([run])


def find_run(project: Project, text: str) -> str:
    """The one run that a name, or the beginning of one, means."""
    runs = sorted({row.pipeline for row in project.journal.rows() if row.pipeline.startswith(text)})
    if text in runs or len(runs) == 1:
        return text if text in runs else runs[0]
    if not runs:
        raise UsageError(f"no run of a pipeline {text}", "ostler pipeline status lists them")
    raise UsageError(f"{text} could be {', '.join(runs[:5])}", "use more of the name")


def reopen(project: Project, run: str) -> list[TaskId]:
    """Open again what failed or was stopped of a run; the others go on by themselves."""
    rows = rows_of(project, run)
    for row in rows:
        if row.status in _OPENS:
            project.retry(row.id)
    return [row.id for row in rows]


def _value(document: Document, path: tuple[str | int, ...]) -> object:
    value = document.value
    for key in path:
        value = value[key]
    return value
