"""The routes of the settings: read all, change those that the browser may change."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ostler.config.load import list_files
from ostler.errors import Code, OstlerError
from ostler.project.accept_settings import describe_unaccepted
from ostler.project.project import Project
from ostler.project.settings_files.browser_changes import (
    Changes,
    Edit,
    FileChoice,
    change_settings,
    read_version,
)
from ostler.project.settings_files.editable import is_editable
from ostler.views.settings import SettingsFileView, SettingsView, view_settings
from ostler.web.requests import Body, Line
from ostler.web.responses import RequestError
from ostler.web.route import Empty, RequestParts
from ostler.web.site import Site


class SettingsChanges(Body, frozen=True):
    version: Line  # of the settings that were read
    edits: Annotated[tuple[Edit, ...], Meta(max_length=200)] = ()
    file: FileChoice = "project"  # file to write to; lists of tables are changed where they are
    models: Annotated[tuple[Line, ...], Meta(max_length=200)] = ()  # their names in a new order


def show_settings(site: Site, project: Project, request: RequestParts[Empty, Empty]) -> SettingsView:
    # The version first: a file that changes in between makes the version old, not the values.
    version, loaded = read_version(project.layout.root, site.environ), project.loaded
    files = list_files(project.layout.root, site.environ)
    return SettingsView(
        version=version,
        files=tuple(
            SettingsFileView("user" if one.layer == "user file" else "project", one.name, one.path.exists())
            for one in reversed(files)
        ),
        settings=view_settings(loaded, is_editable),
        notice=describe_unaccepted(project),
    )


def change(site: Site, project: Project, request: RequestParts[Empty, SettingsChanges]) -> SettingsView:
    """Save all changes or none; 409 if a file changed since the version was read."""
    body = request.body
    changes = Changes(body.version, body.file, body.edits, body.models)
    try:
        change_settings(project.layout.root, site.environ, project.loaded, changes)
    except OstlerError as error:
        raise _refuse(error) from None
    return show_settings(site, project, RequestParts({}, Empty(), Empty()))


def _refuse(error: OstlerError) -> OstlerError:
    """Return 400 for values that are wrong: nothing but them has to change."""
    if error.code is not Code.CONFIG_INVALID:
        return error
    refused = RequestError(400, error.message, error.hint, error.code)
    refused.problems = error.problems
    return refused
