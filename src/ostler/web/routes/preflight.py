"""The route of the preflight: what a run needs and lacks."""

from __future__ import annotations

from ostler.project.inspection.inspect_project import inspect_project
from ostler.project.project import Project
from ostler.views.preflight import PreflightView, view_problems
from ostler.web.route import Empty, RequestParts
from ostler.web.site import Site


def show_preflight(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> PreflightView:
    return view_problems(inspect_project(project.layout.root, site.environ))
