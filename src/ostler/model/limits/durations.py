"""Durations in texts: 5h23m10s, 2 days 17 hours 14 minutes, 20013483ms."""

from __future__ import annotations

import re

from ostler.lazy import lazy_pattern

_UNITS = {
    r"ms|msecs?|millis(?:econds?)?|milliseconds?": 0.001,
    r"s|secs?|seconds?": 1.0,
    r"m|mins?|minutes?": 60.0,
    r"h|hrs?|hours?": 3600.0,
    r"d|days?": 86_400.0,
    r"w|wks?|weeks?": 7 * 86_400.0,
    r"mo|months?": 30 * 86_400.0,
}
_NAMES = "|".join(f"(?P<u{number}>{names})" for number, names in enumerate(_UNITS))
_PART = lazy_pattern(
    rf"(?P<number>\d{{1,12}}(?:\.\d{{1,9}})?|an?(?=\s)|less than an?(?=\s))\s{{0,3}}(?:{_NAMES})(?![a-z])",
    re.IGNORECASE,
)
_BETWEEN = lazy_pattern(r"\s{0,3}(?:,\s{0,3})?(?:and\s{1,3})?", re.IGNORECASE)
_MAX_PARTS = 7


def parse_duration(text: str) -> float | None:
    """Return the seconds of the duration that a text begins with; `less than a minute` is a minute."""
    total, at = 0.0, 0
    for number in range(_MAX_PARTS):
        found = _PART.match(text, at)
        if found is None:
            return total if number else None
        total += _seconds(found)
        between = _BETWEEN.match(text, found.end())
        at = between.end() if between else found.end()
    return total


def _seconds(found: re.Match[str]) -> float:
    number = found["number"]
    factors = _UNITS.values()
    unit = next(factor for index, factor in enumerate(factors) if found[f"u{index}"])
    return (float(number) if number[0].isdecimal() else 1.0) * unit
