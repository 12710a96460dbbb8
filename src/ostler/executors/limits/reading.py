"""Adds limits to a result: the windows, the one that rejected the request, and the seconds to wait."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

from msgspec.structs import replace

from ostler.clock import Now
from ostler.errors import Code
from ostler.executors.limits.moments import JUST_PASSED_SECONDS
from ostler.executors.limits.reset_times import read_wait
from ostler.model.call import CallResult
from ostler.model.limits.names import DAY, FIVE_HOUR, OVERAGE, QUOTA, SEVEN_DAY, find_family, find_length
from ostler.model.limits.rejection import list_rejecting, may_count, rejects
from ostler.model.limits.window import LONGEST_SECONDS, ReportedWindow

_LIMITED = (Code.RATE_LIMITED, Code.QUOTA_EXCEEDED, Code.OVERLOADED)
_LONGEST_RATE_LIMIT_SECONDS = 900.0  # limits per minute end earlier: a longer one is a quota
_NAMES = {
    r"\bopus\b.{0,20}limit|limit.{0,20}\bopus\b": f"{SEVEN_DAY}_opus",
    r"\bsonnet\b.{0,20}limit|limit.{0,20}\bsonnet\b": f"{SEVEN_DAY}_sonnet",
    r"week|7.day|seven.day": SEVEN_DAY,
    r"(5|five).hour|session limit": FIVE_HOUR,
    r"(extra|overage) usage|usage credit": OVERAGE,
    r"daily|per day|perday": DAY,
}


def add_limits(
    result: CallResult,
    text: str,
    windows: tuple[ReportedWindow, ...] = (),
    wait_seconds: float | None = None,
    now: Now = time.time,
    *,
    keeps_code: bool = False,
) -> CallResult:
    """Return the result with its windows and its delay: that of a window, a reported number, or the text.

    After QUOTA_EXCEEDED one window at least is rejected. With `keeps_code` the code is that of the provider
    itself, and a long rate limit stays one.
    """
    if result.code not in _LIMITED:
        return replace(result, windows=windows)
    at = now()
    waits = (wait_seconds, read_wait(text, at), result.retry_after_seconds)
    wait = next((seconds for seconds in waits if seconds is not None), None)
    result = result if keeps_code else replace(result, code=code_of_limit(result.code, wait))
    if result.code is Code.QUOTA_EXCEEDED:
        reset = None if wait is None else at + wait
        windows = _mark_rejected(windows, name_limit(result.message), reset, result.model)
        until_reset = _wait_for(windows, at, result.model)
        wait = wait if until_reset is None else until_reset
    return replace(result, windows=windows, retry_after_seconds=wait)


def code_of_limit(code: Code | None, seconds: float | None) -> Code | None:
    """Return QUOTA_EXCEEDED for a rate limit that lasts longer than any limit per minute."""
    is_long = seconds is not None and seconds > _LONGEST_RATE_LIMIT_SECONDS
    return Code.QUOTA_EXCEEDED if code is Code.RATE_LIMITED and is_long else code


def name_limit(text: str) -> str:
    """Return the name of the window that a text is about; `quota` when it names none."""
    found = (name for pattern, name in _NAMES.items() if re.search(pattern, text, re.IGNORECASE))
    return next(found, QUOTA)


def has_rejected(windows: Iterable[ReportedWindow], model: str) -> bool:
    """Return whether a window of the plan rejects requests of this model."""
    return any(rejects(window, model) and window.name != OVERAGE for window in windows)


def _mark_rejected(
    windows: tuple[ReportedWindow, ...], name: str, resets_at: float | None, model: str
) -> tuple[ReportedWindow, ...]:
    """Return the windows with the one that rejected: as reported, else the full ones, else this name."""
    is_overage = name in (QUOTA, OVERAGE) and any(rejects(one, model) for one in windows)
    if is_overage or has_rejected(windows, model):
        return windows
    full = {one.name for one in windows if (one.used or 0.0) >= 1 and may_count(one, model)}
    if full:
        return tuple(replace(one, status="rejected") if one.name in full else one for one in windows)
    known = next((one for one in windows if one.name == name), None)
    rejected = replace(known, status="rejected") if known else _from_text(name, resets_at)
    return (*(one for one in windows if one is not known), rejected)


def _from_text(name: str, resets_at: float | None) -> ReportedWindow:
    return ReportedWindow(
        name,
        resets_at=resets_at,
        status="rejected",
        seconds=find_length(name),
        family=find_family(name),
        source="text",
    )


def _wait_for(windows: tuple[ReportedWindow, ...], now: float, model: str) -> float | None:
    """Return the seconds until all rejected windows are reset; None without an end, or if it is long past."""
    rejected = (one for one in list_rejecting(windows, model) if one.source != "text")
    ends = [one.resets_at - now for one in rejected if one.resets_at is not None]
    last = max(ends, default=-LONGEST_SECONDS)
    return min(max(0.0, last), LONGEST_SECONDS) if last >= -JUST_PASSED_SECONDS else None
