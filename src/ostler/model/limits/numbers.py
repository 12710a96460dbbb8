"""Numbers that providers report about windows; a value that cannot be true is None, and none raises."""

from __future__ import annotations

from math import isfinite

_DAY = 86_400.0
_MILLISECONDS = 1000.0
_MIN_MILLISECONDS = 1e12  # a larger time is in milliseconds: in seconds it would be the year 33658
_MAX_AGE, _MAX_AHEAD = 366 * _DAY, 366 * _DAY
_MIN_LENGTH, _MAX_LENGTH = 60.0, 366 * _DAY
_MAX_SHARE = 10.0


def read_number(value: float | None) -> float | None:
    """Return a finite number; an integer in JSON may be too large for a float."""
    try:
        number = None if value is None else float(value)
    except OverflowError:
        return None
    return number if number is not None and isfinite(number) else None


def read_time(value: float | None, now: float) -> float | None:
    """Return a Unix time in seconds, at most a year from now; one in milliseconds is converted."""
    number = read_number(value)
    if number is None:
        return None
    seconds = number / _MILLISECONDS if number >= _MIN_MILLISECONDS else number
    return seconds if now - _MAX_AGE <= seconds <= now + _MAX_AHEAD else None


def read_share(value: float | None) -> float | None:
    """Return the share of a window that is used; it may be more than 1."""
    number = read_number(value)
    return number if number is not None and 0 <= number <= _MAX_SHARE else None


def read_length(seconds: float | None) -> float | None:
    """Return the length of a window in seconds: a minute to a year."""
    number = read_number(seconds)
    return number if number is not None and _MIN_LENGTH <= number <= _MAX_LENGTH else None
