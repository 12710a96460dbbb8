"""Runs of pipelines over HTTP."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ostler.errors import UsageError
from ostler.project.pipeline_file import FOLDER, read_pipeline
from ostler.project.pipelines import check_skills, find_run, plan_run, reopen, rows_of, start_run
from ostler.project.preflight import check_ready
from ostler.project.project import Project
from ostler.views.pipeline import PipelineView, view_run
from ostler.web.problem import Refused
from ostler.web.requests import Silent, StartPipeline
from ostler.web.route import Asked, Nothing
from ostler.web.site import Site


class PipelinesView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.pipelines/1"
    pipelines: tuple[PipelineView, ...]


def list_pipelines(site: Site, project: Project, asked: Asked[Nothing, Nothing]) -> PipelinesView:
    return PipelinesView(pipelines=tuple(_view(project, run) for run in project.journal.listing.runs()))


def show_pipeline(site: Site, project: Project, asked: Asked[Nothing, Nothing]) -> PipelineView:
    return _view(project, _find(project, asked.path["run"]))


def start_pipeline(site: Site, project: Project, asked: Asked[Nothing, StartPipeline]) -> PipelineView:
    path = _files(project).get(asked.body.name)
    if path is None:
        raise Refused(404, f"no pipeline {asked.body.name}", f"write {FOLDER / asked.body.name}.yaml")
    pipeline, document = read_pipeline(path, asked.body.goal)
    check_skills(project, pipeline, document)
    if site.carries:
        check_ready(project, plan_run(project, pipeline)[1])
    return _view(project, start_run(project, pipeline)[0])


def resume_pipeline(site: Site, project: Project, asked: Asked[Nothing, Silent]) -> PipelineView:
    run = _find(project, asked.path["run"])
    reopen(project, run)
    return _view(project, run)


def names_of(project: Project) -> list[str]:
    """The pipelines that the project has files of."""
    return sorted(_files(project))


def _files(project: Project) -> dict[str, Path]:
    found = [path for end in ("yml", "yaml") for path in (project.layout.root / FOLDER).glob(f"*.{end}")]
    return {path.stem: path for path in found if path.is_file()}


def _find(project: Project, text: str) -> str:
    try:
        return find_run(project, text)
    except UsageError as error:
        raise Refused(404, error.message, error.hint) from None


def _view(project: Project, run: str) -> PipelineView:
    return view_run(run, [project.show(row.id) for row in rows_of(project, run)])
