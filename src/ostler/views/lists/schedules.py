"""The schedules of a project (ostler.schedules/1)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class ScheduledRun(Struct, frozen=True):
    """A time at which a schedule was started."""

    at: str
    status: str
    task: str | None  # null: of a pipeline
    pipeline: str | None  # the run


class ScheduleView(Struct, frozen=True):
    """A task or pipeline file with a schedule."""

    name: str
    kind: Literal["task", "pipeline"]
    schedule: str  # cron expression in local time
    next: str
    where: str  # file and line
    last: ScheduledRun | None


class SchedulesView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.schedules/1"
    schedules: tuple[ScheduleView, ...]  # by their next time
    skipped: tuple[str, ...]  # why a file is left out until it is fixed
