"""Lists the schedules of a project with their next and last times, and starts one now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from ostler.clock import format_rfc3339
from ostler.errors import OstlerError
from ostler.model.ids import TaskId, make_task_id
from ostler.project.pipelines.runs import list_run_rows
from ostler.project.project import Project
from ostler.project.running.schedules import (
    ScheduledFile,
    Scheduler,
    add_scheduled_tasks,
    find_schedules,
    name_source,
    read_scheduled_task,
)
from ostler.views.lists.schedules import ScheduledRun, SchedulesView, ScheduleView
from ostler.views.pipeline import view_run

_MINUTE = "%Y%m%d%H%M"
_TRIED = 5  # names with another source that are skipped


def list_schedules(project: Project, now: float) -> SchedulesView:
    """Return all schedules, the next one first, each with its last run."""
    scheduler = Scheduler(project.layout.root, now)
    views = tuple(
        ScheduleView(
            one.name,
            one.kind,
            one.schedule.cron,
            format_rfc3339(at),
            one.schedule.location,
            _find_last(project, one),
        )
        for one, at in scheduler.list_upcoming(now)
    )
    return SchedulesView(schedules=views, skipped=tuple(scheduler.skipped))


def find_schedule(project: Project, kind: str, name: str) -> ScheduledFile | None:
    """Return the schedule of a file; None if it has none."""
    found, _ = find_schedules(project.layout.root)
    return next((one for one in found if (one.kind, one.name) == (kind, name)), None)


def start_now(project: Project, scheduled: ScheduledFile, now: float) -> list[TaskId]:
    """Add the tasks as at a scheduled time; return none if they were added in this minute."""
    return add_scheduled_tasks(project, scheduled, now // 60 * 60)


def _find_last(project: Project, scheduled: ScheduledFile) -> ScheduledRun | None:
    source = name_source(project, scheduled)
    try:
        runs = _list_runs if scheduled.kind == "pipeline" else _list_tasks
        return next(runs(project, scheduled, source), None)
    except OstlerError:  # the file was changed or deleted meanwhile
        return None


def _list_tasks(project: Project, scheduled: ScheduledFile, source: str) -> Iterator[ScheduledRun]:
    prefix = make_task_id(read_scheduled_task(scheduled.file, project.layout.root).task.title, "")
    for task in _newest(prefix, project.journal.find(prefix)):
        given = project.task(TaskId(task)).source
        if given.startswith(source):
            yield ScheduledRun(_read_time(given), project.state(TaskId(task)).status, task, None)


def _list_runs(project: Project, scheduled: ScheduledFile, source: str) -> Iterator[ScheduledRun]:
    names = project.journal.listing.pipeline_runs()
    for run in _newest(make_task_id(scheduled.file.stem, ""), names):
        rows = list_run_rows(project, run)
        given = project.task(rows[0].id).source if rows else ""
        if given.startswith(source):
            status = view_run(run, [project.show(row.id) for row in rows]).status
            yield ScheduledRun(_read_time(given), status, None, run)


def _newest(prefix: str, names: Iterable[str]) -> list[str]:
    """Return the names that a schedule gives, newest first."""
    pattern = re.compile(rf"{re.escape(prefix)}\d{{12}}(-\d+)?")
    return sorted(filter(pattern.fullmatch, names), reverse=True)[:_TRIED]


def _read_time(source: str) -> str:
    moment = datetime.strptime(source.rpartition("@")[2], _MINUTE).replace(tzinfo=UTC)
    return format_rfc3339(moment.timestamp())
