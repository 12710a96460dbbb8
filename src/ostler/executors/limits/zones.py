"""Time zones in texts, and the Unix time of a time of day in a zone."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

# The database of zones has none of them in this form. Not CST, which is Central and China.
_AMERICA = {"EST": -5, "EDT": -4, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
_ABBREVIATIONS = _AMERICA | {"WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "JST": 9}
_UTC = ("UTC", "GMT", "Z")
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+/-]{0,60}")
LATEST = timezone(timedelta(hours=-12))  # where a time of day comes last


class UnknownZone(Exception):
    """A text names a zone that this machine does not have."""


def find_zone(name: str) -> tzinfo | None:
    """Return the zone of a name, None for the zone of this machine; raise UnknownZone.

    A machine without a database of zones has only UTC, offsets and its own zone.
    """
    name = name.strip()
    if not name or (name in time.tzname and name not in _UTC):
        return None
    if name.upper() in _UTC:
        return UTC
    if found := _OFFSET.fullmatch(name):
        return _fixed(found)
    if name in _ABBREVIATIONS:
        return timezone(timedelta(hours=_ABBREVIATIONS[name]))
    return _load(name)


def is_zone(name: str) -> bool:
    """Return whether a word has the form of a zone."""
    return _NAME.fullmatch(name) is not None or _OFFSET.fullmatch(name) is not None


def to_unix_time(local: datetime, zone: tzinfo | None) -> float | None:
    """Return the Unix time, at a change of clocks the later one; None when it is out of range."""
    try:
        return max(local.replace(tzinfo=zone, fold=fold).timestamp() for fold in (0, 1))
    except (ValueError, OverflowError, OSError):
        return None


def to_local_time(at: float, zone: tzinfo | None) -> datetime:
    """Return the time in a zone, without the zone; None is the zone of this machine."""
    return datetime.fromtimestamp(at, zone).replace(tzinfo=None)


def _fixed(found: re.Match[str]) -> tzinfo:
    offset = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    if offset >= timedelta(hours=24):
        raise UnknownZone(found[0])
    return timezone(-offset if found[1] == "-" else offset)


def _load(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        # Not in the database, not a valid key, or a directory of it.
        raise UnknownZone(name) from None
