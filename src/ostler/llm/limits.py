"""Reads the limits of an account from the headers of a model API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from msgspec.structs import replace

from ostler.model.limits.durations import parse_duration
from ostler.model.limits.names import FIVE_HOUR, OVERAGE, SEVEN_DAY
from ostler.model.limits.numbers import read_share, read_time
from ostler.model.limits.subscription import PartReport, SubscriptionReport
from ostler.model.limits.window import ReportedWindow

_UNIFIED = "anthropic-ratelimit-unified-"
_PART = re.compile(rf"{_UNIFIED}([\w-]+?)-(?:utilization|reset|status)")
_LENGTHS = {"5h": FIVE_HOUR, "7d": SEVEN_DAY}
_KEY_COUNT = re.compile(r"anthropic-ratelimit-((?:input-|output-)?tokens|requests)-remaining")
_OPENAI_COUNT = re.compile(r"x-ratelimit-remaining-([a-z][a-z-]{0,30})")
_MINUTE = 60.0  # the limits of an API key of Anthropic are per minute


def read_limit_headers(
    headers: Mapping[str, str], now: float, *, rejected: bool = False
) -> tuple[ReportedWindow, ...]:
    """Return the windows that the headers report; names are in lower case.

    After a rejection, a window of which nothing remains has rejected the request.
    """
    counts = _read_counts(headers, now)
    if rejected:
        counts = tuple(replace(one, status="rejected") if one.used == 1 else one for one in counts)
    return (*_read_subscription(headers, now), *counts)


def find_retry_after(headers: Mapping[str, str]) -> str | None:
    """Return the value of Retry-After, in seconds or as a date; milliseconds are converted."""
    exact = _number(headers.get("retry-after-ms"))
    return headers.get("retry-after") if exact is None else f"{exact / 1000:.3f}"


def _read_subscription(headers: Mapping[str, str], now: float) -> tuple[ReportedWindow, ...]:
    status = headers.get(f"{_UNIFIED}status")
    if status is None:
        return ()
    names = dict.fromkeys(found[1] for name in headers if (found := _PART.fullmatch(name)))
    overage = headers.get(f"{_UNIFIED}overage-status")
    report = SubscriptionReport(
        status=status,
        resets_at=_number(headers.get(f"{_UNIFIED}reset")),
        rate_limit_type=headers.get(f"{_UNIFIED}representative-claim"),
        unified_windows={_name_window(name): _read_part(headers, name) for name in names if name != OVERAGE},
        is_using_overage=status == "rejected" and overage in ("allowed", "allowed_warning"),
        overage_status=overage,
        overage_resets_at=_number(headers.get(f"{_UNIFIED}overage-reset")),
    )
    return report.list_windows("header", now)


def _name_window(short: str) -> str:
    """Return five_hour for 5h, and seven_day_opus for 7d_opus."""
    length, mark, family = short.replace("-", "_").partition("_")
    return f"{_LENGTHS.get(length, length)}{mark}{family}"


def _read_part(headers: Mapping[str, str], name: str) -> PartReport:
    used, reset = (_number(headers.get(f"{_UNIFIED}{name}-{what}")) for what in ("utilization", "reset"))
    return PartReport(used, reset, headers.get(f"{_UNIFIED}{name}-status"))


def _read_counts(headers: Mapping[str, str], now: float) -> tuple[ReportedWindow, ...]:
    """Return the windows of an API key: requests and tokens, with what remains of them."""
    windows: list[ReportedWindow] = []
    for header in headers:
        if found := _KEY_COUNT.fullmatch(header):
            window = _read_count(headers, f"anthropic-ratelimit-{found[1]}-{{}}", found[1], now)
            windows.append(replace(window, seconds=_MINUTE))
        elif found := _OPENAI_COUNT.fullmatch(header):
            windows.append(_read_count(headers, f"x-ratelimit-{{}}-{found[1]}", found[1], now))
    return tuple(windows)


def _read_count(headers: Mapping[str, str], form: str, name: str, now: float) -> ReportedWindow:
    remaining, limit, reset = (headers.get(form.format(what), "") for what in ("remaining", "limit", "reset"))
    used = _share(_number(remaining), _number(limit))
    return ReportedWindow(name.replace("-", "_"), used, _read_reset(reset, now), source="header")


def _share(remaining: float | None, limit: float | None) -> float | None:
    return read_share(1 - remaining / limit) if limit and remaining is not None else None


def _read_reset(text: str, now: float) -> float | None:
    """Return the time of a reset: a date, a duration such as 6m0s, a Unix time, or seconds."""
    number = _number(text)
    if number is not None:
        return read_time(number, now) or read_time(now + number, now)
    duration = parse_duration(text)
    if duration is not None:
        return read_time(now + duration, now)
    try:
        return read_time(datetime.fromisoformat(text).timestamp(), now)
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    found = re.fullmatch(r"\d{1,15}(\.\d{1,15})?", (text or "").strip())
    return float(found[0]) if found else None
