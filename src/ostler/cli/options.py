"""Options that several commands share, and the project that they open."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from ostler.cli.terminal.output import print_hint
from ostler.config.find import find_root
from ostler.project.project import Project

# Agents spend most of their time waiting for their provider.
_JOBS_PER_CORE = 2


def refuse_empty(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    """Return the value of an option; an empty one, such as that of an unset variable, would select all tasks.

    Raises click.BadParameter.
    """
    if value == "":
        raise click.BadParameter("it is empty", ctx, param)
    return value or ""


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")


def open_project(
    flags: Mapping[str, object] | None = None, create: bool = False, *, adds_tasks: bool = True
) -> Project:
    """Open the project of the current directory; an upgrade of its journal is reported on stderr.

    A new one is created with its first record; on a server only by a command that adds tasks.
    """
    project = Project.open(Path.cwd(), os.environ, flags, create, defer=True, adds_tasks=adds_tasks)
    for note in project.notes:
        print_hint(note)
    return project


@contextmanager
def open_for_reading() -> Generator[Project]:
    """Open the project of the current directory; outside of one an empty project that is deleted afterwards.

    A project that a reading command creates would contain every directory below it.
    """
    if find_root(Path.cwd(), os.environ) is not None:
        with open_project(create=True, adds_tasks=False) as project:
            yield project
        return
    from tempfile import TemporaryDirectory  # noqa: PLC0415  (most commands run in a project)

    with TemporaryDirectory(prefix="ostler-") as place:
        # Nothing of it is written to a server that the settings of the user name.
        alone = {"OSTLER_STORE__URL": "sqlite", "OSTLER_ENGINE__KIND": "local"}
        named = {**os.environ, **alone, "OSTLER_PROJECT": place}
        with Project.open(Path(place), named, create=True) as project:
            yield project


class _JobsType(click.ParamType[int]):
    name = "jobs"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value == "auto":
            return count_fitting_jobs()
        if not str(value).isascii() or not str(value).isdigit() or int(value) < 1:
            self.fail(f'expected a number from 1 or "auto", got "{value}"', param, ctx)
        return int(value)


JOBS = _JobsType()


def count_fitting_jobs() -> int:
    """Return how many agents fit on this machine, by cores and by available memory."""
    # `status` uses this module too and must not load the caller.
    from ostler.calls.host import DEFAULT_FOOTPRINT_MB, get_available_memory_mb  # noqa: PLC0415

    cores = (os.cpu_count() or 1) * _JOBS_PER_CORE
    available = get_available_memory_mb()
    fitting = cores if available is None else available // DEFAULT_FOOTPRINT_MB
    return max(1, min(cores, fitting))
