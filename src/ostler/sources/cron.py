"""The times of a cron schedule, in local time."""

from __future__ import annotations

import os
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from ostler.errors import Code, OstlerError
from ostler.model.task import Schedule

_LOCAL = Path("/etc/localtime")
_FIELDS = 5


def check_schedule(schedule: Schedule) -> None:
    """Raise an error with file and line when the schedule is invalid or never due."""
    next_time(schedule, datetime.now(UTC).timestamp())


def next_time(schedule: Schedule, after: float) -> float:
    """Return the first time after the given one, in seconds since the epoch."""
    from cronsim import CronSim, CronSimError  # noqa: PLC0415  (only schedules need it)

    fields = len(schedule.cron.split())
    if fields != _FIELDS:
        raise _invalid(schedule, f"it has {fields} field{'s' * (fields != 1)}, expected {_FIELDS}")
    try:
        return next(CronSim(schedule.cron, datetime.fromtimestamp(after, local_zone()))).timestamp()
    except CronSimError as error:
        raise _invalid(schedule, str(error).lower()) from None
    except StopIteration:
        raise _invalid(schedule, "this date does not exist") from None


def latest_time(schedule: Schedule, after: float, until: float) -> float | None:
    """Return the last time in the interval (after, until]; None when there is none."""
    newest = None
    while (at := next_time(schedule, after)) <= until:
        newest = after = at
    return newest


def format_minute(at: float) -> str:
    """Return the minute in UTC, which has no repeated hour, for use in a name."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y%m%d%H%M")


def local_zone() -> tzinfo:
    """Return the time zone of TZ or of the machine, with daylight saving time."""
    name = os.environ.get("TZ", "").removeprefix(":")
    try:
        if name:
            return ZoneInfo(name)
        with _LOCAL.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):  # ZoneInfoNotFoundError is a KeyError
        return UTC if not name else _fixed()
    except KeyError:
        return _fixed()


def _fixed() -> tzinfo:
    """Return the zone of the C library, without daylight saving time."""
    return datetime.now().astimezone().tzinfo or UTC


def _invalid(schedule: Schedule, what: str) -> OstlerError:
    message = f"{schedule.location}: schedule: {schedule.cron!r:.80}: {what}"
    return OstlerError(Code.CONFIG_INVALID, message, 'use minute hour day month weekday, such as "0 6 * * 1"')
