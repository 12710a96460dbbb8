"""Whether any process runs the tasks of a project, and the command that starts one."""

from __future__ import annotations

from msgspec import Struct

from ostler.project.preflight import is_cluster
from ostler.project.project import Project
from ostler.project.running.active_runs import list_active_runs


class Activity(Struct, frozen=True):
    """What runs the tasks of a project."""

    is_active: bool | None  # None: unknown, since workers on other machines run them
    runs: int  # on this machine
    command: str  # starts one


def describe_activity(project: Project, runs_tasks: bool) -> Activity:
    """Return what runs the tasks; `runs_tasks`: this process does."""
    runs = len(list_active_runs(project.layout))
    if is_cluster(project.settings):
        return Activity(None, runs, "ostler worker")
    return Activity(runs_tasks or runs > 0, runs, "ostler run --all")
