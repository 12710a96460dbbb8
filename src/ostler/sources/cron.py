"""The times that a line of cron names, on the clock of the wall where this runs."""

from __future__ import annotations

import os
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from ostler.errors import Code, OstlerError
from ostler.model.schedule import Schedule

_LOCAL = Path("/etc/localtime")
_FIELDS = 5


def check_schedule(schedule: Schedule) -> None:
    """Raise, with file and line, for one that cannot be read or that never comes."""
    next_time(schedule, datetime.now(UTC).timestamp())


def next_time(schedule: Schedule, after: float) -> float:
    """The first time after that one, in seconds since the epoch."""
    from cronsim import CronSim, CronSimError  # noqa: PLC0415  (only who looks at schedules needs it)

    fields = len(schedule.line.split())
    if fields != _FIELDS:
        raise _mistake(schedule, f"it has {fields} field{'s' * (fields != 1)}")
    try:
        return next(CronSim(schedule.line, datetime.fromtimestamp(after, local_zone()))).timestamp()
    except CronSimError as error:
        raise _mistake(schedule, str(error).lower()) from None
    except StopIteration:
        raise _mistake(schedule, "that day never comes") from None


def newest_time(schedule: Schedule, after: float, until: float) -> float | None:
    """The last time of those after one and not after the other; None when there is none."""
    newest = None
    while (at := next_time(schedule, after)) <= until:
        newest = after = at
    return newest


def minute_of(at: float) -> str:
    """A minute in UTC, which has no hour twice, fit for a name."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y%m%d%H%M")


def local_zone() -> tzinfo:
    """The zone of the machine, or of TZ, with the days on which its clock is changed."""
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
    """What the C library makes of it, without changes of the clock."""
    return datetime.now().astimezone().tzinfo or UTC


def _mistake(schedule: Schedule, what: str) -> OstlerError:
    message = f"{schedule.where}: schedule: {schedule.line!r:.80}: {what}"
    return OstlerError(Code.CONFIG_INVALID, message, 'write minute hour day month weekday, as in "0 6 * * 1"')
