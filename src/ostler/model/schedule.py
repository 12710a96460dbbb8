"""When something is to be begun, again and again, as a person wrote it."""

from __future__ import annotations

from msgspec import Struct


class Schedule(Struct, frozen=True):
    line: str  # of cron: minute, hour, day of the month, month, day of the week
    where: str  # the file and line that say so
