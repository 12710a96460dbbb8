"""Problems of pipeline files and task files, with file and line."""

from __future__ import annotations

from collections.abc import Iterator

from ostler.errors import OstlerError, Problem, read_problem
from ostler.project.inspection.files import to_relative
from ostler.project.inspection.setup import Setup, to_problems
from ostler.project.inspection.task import find_task_errors
from ostler.project.pipelines.file import FOLDER, read_pipeline
from ostler.project.pipelines.runs import find_step_errors
from ostler.project.running.schedules import find_schedules, list_task_files, read_scheduled_task


def find_schedule_problems(setup: Setup) -> Iterator[Problem]:
    """Yield the problems of files that cannot be read, then those of their skills, roles and executors."""
    root = setup.root
    found = [read_problem(line) for line in find_schedules(root)[1]]
    found += [*_find_in_pipelines(setup), *_find_in_tasks(setup)]
    yield from (to_relative(one, root) for one in found)


def _find_in_pipelines(setup: Setup) -> Iterator[Problem]:
    for path in sorted((setup.root / FOLDER).glob("[!.]*.y*ml")):
        try:
            parsed = read_pipeline(path)
        except OstlerError:
            continue  # reported with its schedule
        for error in find_step_errors(parsed, setup):
            yield from to_problems(error)


def _find_in_tasks(setup: Setup) -> Iterator[Problem]:
    for path in list_task_files(setup.root):
        try:
            task = read_scheduled_task(path, setup.root).task
        except OstlerError:
            continue  # reported with its schedule
        for error in find_task_errors(task, setup):
            yield Problem(str(path), 0, "", error.message)
