"""Times and ages as people type them: 2d, 12h, 18:30, 2026-11-16."""

from __future__ import annotations

import re
import time

from ostler.clock import read_last_time, read_next_time
from ostler.errors import UsageError
from ostler.model.limits.durations import parse_duration

_AGE = re.compile(r"\d+(\.\d+)?\s*[a-z]+", re.IGNORECASE)


def parse_since(text: str, option: str = "time") -> float:
    """Return the time of a moment or of an age before now; raise UsageError for anything else."""
    age = _parse(text)
    try:
        now = time.time()
        return now - age if age is not None else read_last_time(text, now)
    except ValueError:
        raise UsageError(
            f"invalid {option} {text!r:.80}", "expected a time such as 2d, 18:30 or 2026-11-16T09:00"
        ) from None


def parse_age(text: str, option: str = "age") -> float:
    """Return the seconds of an age; raise UsageError for anything else."""
    age = _parse(text)
    if age is None:
        raise UsageError(f"invalid {option} {text!r:.80}", "expected an age such as 30d, 12h or 2w")
    return age


def parse_start(text: str, option: str = "not_before") -> float:
    """Return the earliest start of a task, in the future if only a time of day is given; raise UsageError."""
    try:
        return read_next_time(text, time.time())
    except ValueError:
        expected = "expected a time such as 18:30, 2030-01-31 or 2030-01-31T18:30Z"
        raise UsageError(f'invalid {option} "{text:.80}": {expected}') from None


def _parse(text: str) -> float | None:
    return parse_duration(text.strip()) if _AGE.fullmatch(text.strip()) else None
