"""Schedules of a project: pipelines and task files with a `schedule`, each time added exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import OstlerError, UsageError
from ostler.files.beneath import read_beneath
from ostler.model.ids import TaskId, make_task_id
from ostler.model.task import Schedule
from ostler.project.pipelines.file import FOLDER as PIPELINES
from ostler.project.pipelines.file import read_pipeline
from ostler.project.pipelines.runs import list_run_rows, load_pipeline, plan_run
from ostler.project.project import Project
from ostler.project.tasks.files.imports import add_once
from ostler.sources.cron import check_schedule, format_minute, latest_time, next_time
from ostler.sources.task_file import TaskFile, read_task_file

TASKS_FOLDER = Path(".agents", "tasks")
_LARGEST = 1 << 20


class ScheduledFile(Struct, frozen=True):
    """A task or pipeline file with a schedule."""

    name: str
    kind: Literal["task", "pipeline"]
    file: Path
    schedule: Schedule


def find_schedules(root: Path) -> tuple[list[ScheduledFile], list[str]]:
    """Return all schedules, and a message for each invalid file."""
    found, mistakes = list[ScheduledFile](), list[str]()
    for file in list_schedule_files(root):
        try:
            found += _read_schedule(file, root)
        except OstlerError as error:
            mistakes += error.message.splitlines()
    return found, mistakes


def list_schedule_files(root: Path) -> list[Path]:
    """Return the files that may have a schedule, sorted."""
    return [*list_task_files(root), *sorted((root / PIPELINES).glob("[!.]*.y*ml"))]


def list_task_files(root: Path) -> list[Path]:
    """Return the task files of the project, sorted."""
    return sorted((root / TASKS_FOLDER).glob("[!.]*.md"))


def add_scheduled_tasks(project: Project, scheduled: ScheduledFile, at: float) -> list[TaskId]:
    """Add the tasks for this time; returns none when another worker has added them."""
    source = f"{name_source(project, scheduled)}{format_minute(at)}"
    if scheduled.kind == "pipeline":
        return _add_pipeline_run(project, scheduled.file, source, format_minute(at))
    task = replace(
        read_scheduled_task(scheduled.file, project.layout.root).task,
        id=TaskId(""),
        source=source,
        sender="schedule",
    )

    def add() -> list[TaskId]:
        with project.journal.transaction():
            placed = add_once(project, task, format_minute(at))
        return [placed.task.id] if placed.is_new else []

    # No later call adds the tasks of this minute.
    return project.journal.repeat(add)


def name_source(project: Project, scheduled: ScheduledFile) -> str:
    """Return the source of the tasks of a schedule, without their minute."""
    return f"schedule:{scheduled.file.relative_to(project.layout.root)}@"


def _add_pipeline_run(project: Project, file: Path, source: str, minute: str) -> list[TaskId]:
    pipeline = load_pipeline(project, file)

    def add() -> list[TaskId]:
        with project.journal.transaction():
            for run in _generate_names(file.stem, minute):
                rows = list_run_rows(project, run)
                if rows and project.task(rows[0].id).source == source:
                    return []
                tasks = plan_run(project, pipeline, run)[1]
                if not rows and not project.journal.statuses(task.id for task in tasks):
                    return [project.add(replace(task, source=source)).id for task in tasks]
        raise AssertionError("the names are infinite")

    return project.journal.repeat(add)


def _generate_names(stem: str, minute: str) -> Iterator[str]:
    """Yield the name of the run, then alternatives in case it is taken."""
    yield make_task_id(stem, minute)
    yield from (make_task_id(stem, f"{minute}-{number}") for number in count(2))


def _read_schedule(file: Path, root: Path) -> Iterator[ScheduledFile]:
    if file.suffix == ".md":
        kind, schedule = "task", read_scheduled_task(file, root).schedule
    else:
        kind, schedule = "pipeline", read_pipeline(file).pipeline.schedule
    if schedule is not None:
        check_schedule(schedule)
        yield ScheduledFile(file.stem, kind, file, schedule)


def read_scheduled_task(file: Path, root: Path) -> TaskFile:
    """Return the task of a file of .agents/tasks; raise an error with its path."""
    relative = str(file.relative_to(root))
    try:
        text = read_beneath(root, relative, _LARGEST).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{relative} is not UTF-8 (byte {error.start})", "save it as UTF-8") from None
    return read_task_file(text, relative)


_MINUTE = 60.0


class Scheduler:
    """Finds schedules that came due since the last call; earlier times are not made up for."""

    def __init__(self, root: Path, now: float) -> None:
        self._root = root
        self._until = now // _MINUTE * _MINUTE - 1  # the current minute counts
        self._stamp: object = None
        self._reported_errors: frozenset[str] = frozenset()
        self._schedules: list[ScheduledFile] = []
        self.skipped = self.reload()  # the mistakes of files that are left out until they are fixed

    def reload(self) -> list[str]:
        """Read changed files again and return the new errors."""
        if (stamp := self._read_stamp()) == self._stamp:
            return []
        self._stamp = stamp
        self._schedules, mistakes = find_schedules(self._root)
        new = [mistake for mistake in mistakes if mistake not in self._reported_errors]
        self._reported_errors = frozenset(mistakes)
        return new

    def take_due(self, now: float) -> list[tuple[ScheduledFile, float]]:
        """Return what came due, each with its latest time: after a suspend, missed times do not pile up."""
        after, self._until = min(self._until, now), now
        times = [(one, latest_time(one.schedule, after, now)) for one in self._schedules]
        return [(one, at) for one, at in times if at is not None]

    def list_upcoming(self, now: float) -> list[tuple[ScheduledFile, float]]:
        """Return the next time of each schedule, earliest first."""
        times = [(one, next_time(one.schedule, now)) for one in self._schedules]
        return sorted(times, key=lambda pair: (pair[1], pair[0].name))

    def _read_stamp(self) -> list[tuple[Path, int, int]]:
        found: list[tuple[Path, int, int]] = []
        for file in list_schedule_files(self._root):
            try:
                stat = file.stat()
            except OSError:
                continue  # deleted in the meantime
            found.append((file, stat.st_mtime_ns, stat.st_size))
        return found
