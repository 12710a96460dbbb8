"""Numbers that providers report about windows; a value that cannot be true is None."""

from __future__ import annotations

_MIN_TIME, _MAX_TIME = 1e9, 1e10  # from 2001 to 2286
_MILLISECONDS = 1000.0
_MAX_SHARE = 100.0


def read_time(value: float | None) -> float | None:
    """Return a Unix time in seconds; one in milliseconds is converted."""
    if value is None or not value >= _MIN_TIME:
        return None
    seconds = value / _MILLISECONDS if value >= _MIN_TIME * _MILLISECONDS else value
    return seconds if seconds < _MAX_TIME else None


def read_share(value: float | None) -> float | None:
    """Return the share of a window that is used; it may be more than 1."""
    return value if value is not None and 0 <= value <= _MAX_SHARE else None
