"""ostler projects"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import click

from ostler.cli.options import json_option
from ostler.cli.terminal.output import print_hint, print_json, print_text
from ostler.cli.terminal.text import format_age, format_count, format_table
from ostler.clock import format_rfc3339
from ostler.config.find import find_root
from ostler.errors import UsageError
from ostler.files.layout import Layout
from ostler.project.registry.known_projects import KnownProject, KnownProjects
from ostler.project.running.active_runs import list_active_runs


@click.group("projects", invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the projects that ostler serve --all serves.

    The commands init, new, run, import, pipeline run, worker and serve add theirs to the list.
    """
    if context.invoked_subcommand is None:
        _print_projects(KnownProjects(os.environ).list(), as_json)


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the projects, with the number of runs that are active now."""
    _print_projects(KnownProjects(os.environ).list(), as_json)


@command.command("add")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@json_option
def add_command(paths: tuple[str, ...], as_json: bool) -> None:
    """Add projects to the list."""
    roots = [_find_project(path) for path in paths]
    known = KnownProjects(os.environ)
    added = tuple(known.add(root) for root in roots)
    if as_json:
        _print_projects(added, as_json)
        return
    for one in added:
        print_text(f"Added {one.name}: {one.root}")


@command.command("forget")
@click.argument("projects", metavar="[NAME|PATH]...", nargs=-1)
@click.option("--gone", is_flag=True, help="Remove all whose directory has no project any more.")
@json_option
def forget_command(projects: tuple[str, ...], gone: bool, as_json: bool) -> None:
    """Remove projects from the list; their files are kept."""
    if not projects and not gone:
        raise UsageError("name a project, or use --gone", "ostler projects   lists them")
    known = KnownProjects(os.environ)
    chosen = {_find_known(known.list(), one).root for one in projects}
    removed = known.forget(lambda one: one.root in chosen or (gone and one.is_gone))
    if as_json:
        _print_projects(removed, as_json)
        return
    for one in removed:
        print_text(f"Removed {one.name} from the list: {one.root}")
    if not removed:
        print_text("Nothing to remove: every project on the list exists.")


def _find_project(path: str) -> Path:
    place = Path(path)
    root = find_root(place, {}) if place.is_dir() else None
    if root is None:
        raise UsageError(f"no Ostler project in {path}", "create one in that directory: ostler init")
    return root


def _find_known(projects: tuple[KnownProject, ...], text: str) -> KnownProject:
    path = str(Path(text).resolve())
    matches: tuple[Callable[[KnownProject], bool], ...] = (
        lambda one: one.name == text,
        lambda one: one.root in (text, path),
    )
    for match in matches:
        if found := next(filter(match, projects), None):
            return found
    raise UsageError(f"no project {text} on the list", "ostler projects   lists them")


def _print_projects(projects: tuple[KnownProject, ...], as_json: bool) -> None:
    if as_json:
        print_json({"schema": "ostler.projects/1", "projects": [_to_json(one) for one in projects]})
        return
    if not projects:
        print_text("No projects.  Next: ostler init, or ostler projects add PATH")
        return
    now = time.time()
    rows = [(one.name, one.root, format_age(one.used_at, now), _describe(one)) for one in projects]
    print_text(format_table(("name", "path", "used", "state"), rows, [""] * len(rows), ()))
    if any(one.is_gone for one in projects):
        print_hint("\nNext: ostler projects forget --gone")


def _to_json(one: KnownProject) -> dict[str, object]:
    return {
        "name": one.name,
        "root": one.root,
        "used_at": format_rfc3339(one.used_at),
        "gone": one.is_gone,
        "runs": _count_runs(one),
    }


def _describe(one: KnownProject) -> str:
    if one.is_gone:
        return "gone"
    runs = _count_runs(one)
    return f"{format_count(runs, 'active run')}" if runs else ""


def _count_runs(one: KnownProject) -> int:
    return 0 if one.is_gone else len(list_active_runs(Layout(Path(one.root))))
