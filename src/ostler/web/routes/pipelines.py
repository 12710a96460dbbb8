"""The routes of pipeline runs."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ostler.errors import UsageError
from ostler.project.pipelines.file import FOLDER
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
from ostler.views.pipeline import PipelineView, view_run
from ostler.web.requests import EmptyBody, StartPipeline
from ostler.web.responses import RequestError
from ostler.web.route import Empty, RequestParts
from ostler.web.site import Site


class PipelinesView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.pipelines/1"
    pipelines: tuple[PipelineView, ...]


def list_pipelines(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> PipelinesView:
    return PipelinesView(
        pipelines=tuple(_view(project, run) for run in project.journal.listing.pipeline_runs())
    )


def show_pipeline(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> PipelineView:
    return _view(project, _find(project, request.path["run"]))


def start_pipeline(site: Site, project: Project, request: RequestParts[Empty, StartPipeline]) -> PipelineView:
    path = _files(project).get(request.body.name)
    if path is None:
        raise RequestError(
            404, f"no pipeline {request.body.name}", f"create {FOLDER / request.body.name}.yaml"
        )
    pipeline = load_pipeline(project, path, request.body.goal)
    if site.runs_tasks:
        check_ready(project, plan_run(project, pipeline)[1])
    return _view(project, start_run(project, pipeline)[0])


def resume_pipeline(site: Site, project: Project, request: RequestParts[Empty, EmptyBody]) -> PipelineView:
    run = _find(project, request.path["run"])
    reopen_run(project, run)
    return _view(project, run)


def list_pipeline_names(project: Project) -> list[str]:
    """Return the names of the project's pipeline files."""
    return sorted(_files(project))


def _files(project: Project) -> dict[str, Path]:
    found = [path for end in ("yml", "yaml") for path in (project.layout.root / FOLDER).glob(f"*.{end}")]
    return {path.stem: path for path in found if path.is_file()}


def _find(project: Project, text: str) -> str:
    try:
        return find_run(project, text)
    except UsageError as error:
        raise RequestError(404, error.message, error.hint) from None


def _view(project: Project, run: str) -> PipelineView:
    return view_run(run, [project.show(row.id) for row in list_run_rows(project, run)])
