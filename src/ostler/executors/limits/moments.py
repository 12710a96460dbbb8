"""Absolute times in texts: 12:47am (UTC), Nov 16th, 2026 12:40 AM, Thursday 3pm, 2026-11-16T00:40:00Z."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, tzinfo
from datetime import time as time_of_day

from msgspec import Struct

from ostler.executors.limits.zones import LATEST, UnknownZone, find_zone, is_zone, to_local_time, to_unix_time

JUST_PASSED_SECONDS = 300.0  # a time that passed this recently is now: clocks differ
_MINUTE = 60.0  # a text without seconds is cut to the minute: the reset is up to a minute later
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(Z\b|[+-]\d\d:?\d\d)?", re.IGNORECASE
)
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s{1,3}(?P<year>\d{4})(?![\d:]))?"
_DATES = (
    re.compile(rf"{_MONTH}\s{{1,3}}{_DAY}(?!\d){_YEAR}", re.IGNORECASE),
    re.compile(rf"{_DAY}\s{{1,3}}{_MONTH}(?![a-z]){_YEAR}", re.IGNORECASE),
)
_WEEKDAY = re.compile(rf"(?P<weekday>{'|'.join(_DAYS)})[a-z]{{0,6}}\b\.?", re.IGNORECASE)
_NEAR_DAY = re.compile(r"today|tomorrow", re.IGNORECASE)
_BEFORE_TIME = re.compile(r",?\s{0,3}(?:at\s{1,3})?", re.IGNORECASE)
_TIME = re.compile(
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::(?P<second>\d\d))?)?\s{0,3}(?P<half>[ap])\.?m\b\.?"
    r"|(?P<hour24>\d{1,2}):(?P<minute24>\d\d)(?::(?P<second24>\d\d))?(?![\d:])",
    re.IGNORECASE,
)
# Also words that are no zone: without the zone, a time could be read earlier than it is meant.
_ZONE = re.compile(
    r"\s{0,3}\((?P<inside>[^()]{1,60})\)"
    r"|\s{1,3}(?P<word>[A-Z][A-Za-z_]{1,30}/[A-Za-z0-9_+/-]{1,40}|(?:UTC|GMT)[+-]\d{1,2}(?::?\d{2})?"
    r"|(?:[A-Z][a-z]{2,15}\s){1,3}[Tt]ime|Pacific|Eastern|Central|Mountain|Z|[A-Z]{2,5}|[+-]\d{4})\b"
)
_ZONE_NAME = re.compile(r"(?!.*\b(?:local|your)\b).*\stime", re.IGNORECASE)  # Pacific Time


class _Time(Struct, frozen=True):
    """A time of day with its zone, as a text names it."""

    at: time_of_day
    zone: str = ""  # empty: that of this machine
    rounding: float = _MINUTE


_Fits = Callable[[date, date], bool]
"""Whether a day is meant; the second argument is today."""


def parse_moment(text: str, now: float) -> float | None:
    """Return the Unix time that a text begins with, which is never earlier than meant; None without one.

    A time of day is the next one, a date that has passed is None. Without its zone, a date is read
    as in the zone where it comes last.
    """
    return _parse_iso(text) or _parse_date(text, now) or _parse_weekday(text, now) or _parse_time(text, now)


def _parse_iso(text: str) -> float | None:
    found = _ISO.match(text)
    if found is None:
        return None
    try:
        local = datetime.fromisoformat(f"{found[1]}T{found[2]}")
        zone = find_zone(found[3] or _read_zone(text[found.end(2) :]))
    except (ValueError, UnknownZone):
        return None
    at = to_unix_time(local, zone)
    return at if at is None or found[2].count(":") > 1 else at + _MINUTE


def _parse_date(text: str, now: float) -> float | None:
    rest = text[_end(_WEEKDAY, text) :].lstrip(", ")
    found = next((found for form in _DATES if (found := form.match(rest))), None)
    if found is None:
        return None
    # A date without a time: the end of the day.
    time = _read_time(rest[found.end() :]) or _Time(time_of_day(23, 59))
    try:
        zone = find_zone(time.zone)
    except UnknownZone:
        zone = LATEST
    year = to_local_time(now, zone).year
    years = (int(found["year"]),) if found["year"] else (year - 1, year, year + 1)
    times = [at for one in years if (at := _at(_make_date(one, found), time, zone)) is not None]
    return min(times, key=lambda at: abs(at - now), default=None)


def _parse_weekday(text: str, now: float) -> float | None:
    found = _WEEKDAY.match(text)
    time = _read_time(text[found.end() :]) if found else None
    if found is None or time is None:
        return None
    wanted = _DAYS.index(found["weekday"].lower())
    return _next(time, now, lambda day, _: day.weekday() == wanted)


def _parse_time(text: str, now: float) -> float | None:
    near = _NEAR_DAY.match(text)
    time = _read_time(text[near.end() if near else 0 :])
    if time is None:
        return None
    if near is None:
        return _next(time, now, lambda day, today: True)
    days = timedelta(days=near[0].lower() == "tomorrow")
    return _next(time, now, lambda day, today: day == today + days)


def _next(time: _Time, now: float, fits: _Fits) -> float | None:
    """Return the next time on a day that fits; one that has just passed counts, too."""
    try:
        zone = find_zone(time.zone)
    except UnknownZone:
        return None
    today = to_local_time(now, zone).date()
    days = (today + timedelta(days=number) for number in range(-1, 9))
    times = (_at(day, time, zone) for day in days if fits(day, today))
    return next((at for at in times if at is not None and at >= now - JUST_PASSED_SECONDS), None)


def _at(day: date | None, time: _Time, zone: tzinfo | None) -> float | None:
    at = to_unix_time(datetime.combine(day, time.at), zone) if day else None
    return None if at is None else at + time.rounding


def _make_date(year: int, found: re.Match[str]) -> date | None:
    try:
        return date(year, _MONTHS.index(found["month"].lower()) + 1, int(found["day"]))
    except ValueError:
        # February 29, or a day that no month has.
        return None


def _read_time(text: str) -> _Time | None:
    rest = text[_end(_BEFORE_TIME, text) :]
    found = _TIME.match(rest)
    if found is None:
        return None
    hour, minute, second = (found[name] or found[f"{name}24"] for name in ("hour", "minute", "second"))
    hours = _hours(int(hour), found["half"])
    try:
        at = time_of_day(hours, int(minute or 0), int(second or 0))
    except ValueError:
        return None
    return _Time(at, _read_zone(rest[found.end() :]), _MINUTE if second is None else 0.0)


def _hours(hour: int, half: str | None) -> int:
    """Return the hour of the day; 12am is 0, 12pm is 12; an hour that does not exist is 99."""
    if half is None:
        return hour
    return hour % 12 + (12 if half in "pP" else 0) if 1 <= hour <= 12 else 99


def _read_zone(text: str) -> str:
    found = _ZONE.match(text)
    name = (found["inside"] or found["word"] or "").strip() if found else ""
    return name if is_zone(name) or _ZONE_NAME.fullmatch(name) else ""


def _end(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.match(text)
    return found.end() if found else 0
