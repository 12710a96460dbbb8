"""What a project does again and again: pipelines and task files with a `schedule`, each time exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import OstlerError, UsageError
from ostler.files.beneath import read_beneath
from ostler.model.ids import TaskId, task_id
from ostler.model.schedule import Schedule
from ostler.project.imports import place_once
from ostler.project.pipeline_file import FOLDER as PIPELINES
from ostler.project.pipeline_file import read_pipeline
from ostler.project.pipelines import check_skills, plan_run, rows_of
from ostler.project.project import Project
from ostler.prompt.task_file import TaskFile, read_task_file
from ostler.sources.cron import check_schedule, minute_of

TASKS = Path(".agents", "tasks")
_LARGEST = 1 << 20


class Scheduled(Struct, frozen=True):
    """Something with a schedule, in a file of the project."""

    name: str
    kind: Literal["task", "pipeline"]
    file: Path
    schedule: Schedule


def find_schedules(root: Path) -> tuple[list[Scheduled], list[str]]:
    """All of them, and a sentence for each file that cannot be used."""
    found, mistakes = list[Scheduled](), list[str]()
    for file in schedule_files(root):
        try:
            found += _read(file, root)
        except OstlerError as error:
            mistakes += error.message.splitlines()
    return found, mistakes


def schedule_files(root: Path) -> list[Path]:
    """The files that may have one, in order."""
    tasks = sorted((root / TASKS).glob("[!.]*.md"))
    return [*tasks, *sorted((root / PIPELINES).glob("[!.]*.y*ml"))]


def begin(project: Project, scheduled: Scheduled, at: float) -> list[TaskId]:
    """Add its tasks for that time; none when some worker has done so before."""
    source = f"schedule:{scheduled.file.relative_to(project.layout.root)}@{minute_of(at)}"
    if scheduled.kind == "pipeline":
        return _begin_pipeline(project, scheduled.file, source, minute_of(at))
    task = replace(
        _task_file(scheduled.file, project.layout.root).task, id=TaskId(""), source=source, sender="schedule"
    )
    with project.journal.transaction():
        placed = place_once(project, task, minute_of(at))
    return [placed.task.id] if placed.is_new else []


def _begin_pipeline(project: Project, file: Path, source: str, minute: str) -> list[TaskId]:
    pipeline, document = read_pipeline(file)
    check_skills(project, pipeline, document)
    with project.journal.transaction():
        for run in _names(file.stem, minute):
            rows = rows_of(project, run)
            if rows and project.task(rows[0].id).source == source:
                return []
            tasks = plan_run(project, pipeline, run)[1]
            if not rows and not project.journal.statuses(task.id for task in tasks):
                return [project.add(replace(task, source=source)).id for task in tasks]
    raise AssertionError("there is no end of names")


def _names(stem: str, minute: str) -> Iterator[str]:
    """The name of the run, then others for the case that it is taken."""
    yield task_id(stem, minute)
    yield from (task_id(stem, f"{minute}-{number}") for number in count(2))


def _read(file: Path, root: Path) -> Iterator[Scheduled]:
    if file.suffix == ".md":
        kind, schedule = "task", _task_file(file, root).schedule
    else:
        kind, schedule = "pipeline", read_pipeline(file)[0].schedule
    if schedule is not None:
        check_schedule(schedule)
        yield Scheduled(file.stem, kind, file, schedule)


def _task_file(file: Path, root: Path) -> TaskFile:
    relative = str(file.relative_to(root))
    try:
        text = read_beneath(root, relative, _LARGEST).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{relative} is not UTF-8 (byte {error.start})", "save it as UTF-8") from None
    return read_task_file(text, relative)
