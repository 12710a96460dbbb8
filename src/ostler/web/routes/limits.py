"""The route of the accounts and their windows."""

from __future__ import annotations

import time

from ostler.project.limits import read_project_limits
from ostler.project.project import Project
from ostler.views.limits import LimitsView
from ostler.web.route import Empty, RequestParts
from ostler.web.site import Site


def show_limits(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> LimitsView:
    return read_project_limits(project, site.environ, time.time())
