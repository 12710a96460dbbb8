"""The line at the start of a run whose agents get no sandbox."""

from __future__ import annotations

import os

from ostler.cli.terminal.output import print_hint
from ostler.project.inspection.confinement import describe_unconfined
from ostler.project.project import Project


def print_unconfined(project: Project) -> None:
    """Print why agents run without a sandbox; nothing if they get one, or if the settings want none."""
    if message := describe_unconfined(project.settings.sandbox, os.environ):
        print_hint(message)
