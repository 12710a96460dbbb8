"""The route of the machine."""

from __future__ import annotations

from ostler.project.inspection.machine import read_machine
from ostler.project.project import Project
from ostler.views.machine import MachineView
from ostler.web.route import Empty, RequestParts
from ostler.web.site import Site


def show_machine(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> MachineView:
    return read_machine(project, site.pools())
