"""Finds in a text when a limit ends: a field, a duration or a time after words such as `try again`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from ostler.executors.limits.moments import JUST_PASSED_SECONDS, parse_moment
from ostler.model.limits.durations import parse_duration
from ostler.model.limits.window import LONGEST_SECONDS

_MAX_TEXT = 4000  # characters at the end of a text that are searched
_MAX_VALUE = 120  # characters after the words in which the time is
_MIN_EPOCH, _MIN_EPOCH_MS = 1e9, 1e12

_WORDS = re.compile(
    r"(?P<reset>reset|renew|available again|limit reached)|try(?:ing)? again|retry", re.IGNORECASE
)
# Between the words and the time: `s at`, `ting in`, `": "`, `_at":`, `Delay": "`, `-After: `.
_LINK = re.compile(
    r"(?:s|t?ing|ed|al)?[-_ ]{0,2}(?:delay|time(?:stamp)?)?[\\\"'\s]{0,4}[:=]?[\\\"'\s]{0,4}"
    r"(?:(?:will|be|again|until|only)\s{1,3}){0,2}(?:after|at|in|on|by|within)?"
    r"[\\\"'\s]{0,4}[:=]?[\\\"'\s]{0,4}(?:about\s|approximately\s|~)?\s{0,3}",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"s?[-_ ]?(?P<kind>after|delay|in|at)?[-_ ]?(?P<unit>ms|millis\w{0,9}|s|secs?|seconds)?"
    r"[\\\"']{0,3}\s{0,3}[:=|]\s{0,3}[\\\"']{0,3}(?P<number>\d{1,13}(?:\.\d{1,9})?)(?![\d.]*[\w:/-])",
    re.IGNORECASE,
)
_WAITS = ("after", "delay", "in")  # kinds of fields whose number is a duration


class _Found(Struct, frozen=True):
    seconds: float  # from now
    is_reset: bool  # the end of the limit, and not only the next attempt of the program


def read_wait(text: str, now: float) -> float | None:
    """Return the seconds until a limit ends, if the text names its end.

    They are never more than the longest window. A time that passed long ago is not used.
    """
    for line in reversed(text[-_MAX_TEXT:].splitlines()):
        found = [one for one in _find_times(line, now) if one.seconds >= -JUST_PASSED_SECONDS]
        # A program may add a delay of its own to the time of the provider.
        times = [one.seconds for one in found if one.is_reset] or [one.seconds for one in found]
        if times:
            return min(max(*times, 0.0), LONGEST_SECONDS)
    return None


def _find_times(line: str, now: float) -> Iterator[_Found]:
    for found in _WORDS.finditer(line):
        rest = line[found.end() : found.end() + _MAX_VALUE]
        seconds = _read_number(rest, now)
        if seconds is None:
            link = _LINK.match(rest)
            seconds = _read_value(rest[link.end() if link else 0 :], now)
        if seconds is not None:
            yield _Found(seconds, found["reset"] is not None)


def _read_value(text: str, now: float) -> float | None:
    seconds = parse_duration(text)
    if seconds is not None:
        return seconds
    at = parse_moment(text, now)
    return None if at is None else at - now


def _read_number(text: str, now: float) -> float | None:
    """Return the seconds of a field such as `resets_at: 1763280000`, `|1763280000` or `Retry-After: 2`."""
    found = _NUMBER.match(text)
    if found is None:
        return None
    number = float(found["number"])
    if number >= _MIN_EPOCH:
        return (number / 1000 if number >= _MIN_EPOCH_MS else number) - now
    if (found["kind"] or "").lower() not in _WAITS:
        return None
    return number / 1000 if (found["unit"] or "").lower().startswith("m") else number
