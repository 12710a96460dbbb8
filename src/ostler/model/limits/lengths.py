"""The lengths of windows, and which windows count for the policy of limits."""

from __future__ import annotations

import re

from ostler.model.limits.window import ReportedWindow

HOUR_SECONDS = 3600.0
_LENGTHS = {"minute": 60.0, "five_hour": 5 * HOUR_SECONDS, "day": 86_400.0, "seven_day": 7 * 86_400.0}
_UNITS = {"min": 60.0, "h": HOUR_SECONDS, "d": 86_400.0}
_NAMED_LENGTH = re.compile(r"(\d+)(min|h|d)")
_SHORT = frozenset({"minute", "requests", "tokens"})  # they are open again within minutes
_SHORT_SECONDS = 600.0
OVERAGE = "overage"


def find_length(window: ReportedWindow) -> float | None:
    """Return the length of a window in seconds, as reported or from its name; None: not known."""
    if window.seconds is not None and window.seconds > 0:
        return window.seconds
    if named := _NAMED_LENGTH.fullmatch(window.name):
        return int(named[1]) * _UNITS[named[2]]
    name = next((one for one in _LENGTHS if window.name == one or window.name.startswith(f"{one}_")), "")
    return _LENGTHS.get(name)


def counts_for_policy(window: ReportedWindow) -> bool:
    """Return whether tasks wait for this window: not for paid use beyond a plan, nor for short windows."""
    length = find_length(window)
    is_short = window.name in _SHORT or (length is not None and length < _SHORT_SECONDS)
    return window.name != OVERAGE and not is_short
