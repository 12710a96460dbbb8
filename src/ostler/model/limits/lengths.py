"""The lengths of windows, and which windows count for the policy of limits."""

from __future__ import annotations

from ostler.model.limits import names
from ostler.model.limits.window import ReportedWindow

_SHORT_SECONDS = 600.0


def find_length(window: ReportedWindow) -> float | None:
    """Return the length of a window in seconds, as reported or from its name; None: not known."""
    return window.length


def counts_for_policy(window: ReportedWindow) -> bool:
    """Return whether tasks wait for this window: not for paid use beyond a plan, nor for short windows."""
    length = find_length(window)
    is_short = names.is_counted(window.name) or (length is not None and length < _SHORT_SECONDS)
    return window.name != names.OVERAGE and not is_short
