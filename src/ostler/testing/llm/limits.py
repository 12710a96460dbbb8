"""Limits of a scripted provider: how much of each window is used, in the headers and errors of each API."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import Struct

LimitStatus = Literal["", "allowed", "allowed_warning", "rejected"]
_WARNING_AT = 0.9
_PER_WINDOW = 1000  # requests or tokens, for an API that reports what remains
_UNIFIED = {
    "five_hour": "5h",
    "seven_day": "7d",
    "seven_day_opus": "7d_opus",
    "seven_day_sonnet": "7d_sonnet",
}
_MINUTES = {"five_hour": 300, "seven_day": 10_080, "day": 1440}
_RPC = "type.googleapis.com/google.rpc"
_COUNTED = ("requests", "tokens")  # windows of an API key


class LimitWindow(Struct, frozen=True, forbid_unknown_fields=True):
    """One window of the account."""

    used: float = 0.0  # share: 0 to 1
    resets_in_seconds: float = 14_400.0  # from the start of the server
    status: LimitStatus = ""  # empty: it follows from `used`

    @property
    def effective_status(self) -> LimitStatus:
        if self.status:
            return self.status
        return "rejected" if self.used >= 1 else "allowed_warning" if self.used >= _WARNING_AT else "allowed"


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """The windows by name: five_hour, seven_day, seven_day_opus, overage, day; requests, tokens for a key."""

    windows: dict[str, LimitWindow]
    claim: str = ""  # the window that decides; empty: the one that is used most
    overage: LimitStatus = ""  # of the extra usage that is paid separately; empty: not reported
    plan: str = "pro"

    @property
    def deciding(self) -> str:
        return self.claim or max(self.windows, key=lambda name: self.windows[name].used)

    def resets_at(self, started_at: float) -> float:
        """Return when the deciding window resets."""
        return started_at + self.windows[self.deciding].resets_in_seconds


class LimitReport(Struct, frozen=True):
    """What an API sends about limits."""

    headers: dict[str, str] = {}
    error: dict[str, Any] = {}  # members of the error object of a rejection


def report_nothing(limits: Limits, started_at: float) -> LimitReport:
    del limits, started_at
    return LimitReport()


def report_unified(limits: Limits, started_at: float) -> LimitReport:
    """Return the headers of Anthropic: unified ones for a subscription, counts for an API key."""
    headers: dict[str, str] = {}
    for name, window in limits.windows.items():
        reset = started_at + window.resets_in_seconds
        if name in _COUNTED:
            headers |= _count_headers(f"anthropic-ratelimit-{name}-{{}}", window, _rfc3339(reset))
        else:
            headers |= _unified(_UNIFIED.get(name, name), window, reset)
    if set(limits.windows) - set(_COUNTED):
        headers |= _unified_summary(limits, started_at)
    return LimitReport(headers)


def report_codex(limits: Limits, started_at: float) -> LimitReport:
    """Return the headers and the error of ChatGPT: the first two windows are primary and secondary."""
    headers: dict[str, str] = {}
    for place, (name, window) in zip(("primary", "secondary"), limits.windows.items(), strict=False):
        headers |= {
            f"x-codex-{place}-used-percent": f"{window.used * 100:g}",
            f"x-codex-{place}-window-minutes": str(_MINUTES.get(name, 60)),
            f"x-codex-{place}-reset-at": str(round(started_at + window.resets_in_seconds)),
        }
    reset = round(limits.resets_at(started_at))
    error = {
        "type": "usage_limit_reached",
        "plan_type": limits.plan,
        "resets_at": reset,
        "resets_in_seconds": max(0, reset - round(time.time())),
    }
    return LimitReport(headers, error)


def report_openai(limits: Limits, started_at: float) -> LimitReport:
    """Return the headers of OpenAI for an API key: x-ratelimit-remaining-requests and others."""
    headers: dict[str, str] = {}
    for name, window in limits.windows.items():
        left = max(0.0, started_at + window.resets_in_seconds - time.time())
        headers |= _count_headers(f"x-ratelimit-{{}}-{name}", window, _format_delay(left))
    return LimitReport(headers)


def report_gemini(limits: Limits, started_at: float) -> LimitReport:
    """Return the error of Code Assist: QUOTA_EXHAUSTED, and the delay until the reset in three places."""
    reset = limits.resets_at(started_at)
    seconds = max(0.0, reset - time.time())
    delay = _format_delay(seconds)
    info = {
        "@type": f"{_RPC}.ErrorInfo",
        "reason": "QUOTA_EXHAUSTED",
        "domain": "cloudcode-pa.googleapis.com",
        "metadata": {"quotaResetDelay": delay, "quotaResetTimeStamp": _rfc3339(reset)},
    }
    retry = {"@type": f"{_RPC}.RetryInfo", "retryDelay": f"{seconds:.3f}s"}
    message = f"You have exhausted your capacity on this model. Your quota will reset after {delay}."
    return LimitReport(error={"message": message, "details": [info, retry]})


def _unified(short: str, window: LimitWindow, reset: float) -> dict[str, str]:
    prefix = f"anthropic-ratelimit-unified-{short}"
    headers = {
        f"{prefix}-utilization": f"{window.used:g}",
        f"{prefix}-reset": str(round(reset)),
        f"{prefix}-status": window.effective_status,
    }
    passed = {f"{prefix}-surpassed-threshold": f"{_WARNING_AT:g}"}
    return headers | (passed if window.effective_status == "allowed_warning" else {})


def _unified_summary(limits: Limits, started_at: float) -> dict[str, str]:
    prefix, deciding = "anthropic-ratelimit-unified", limits.windows[limits.deciding]
    headers = {
        f"{prefix}-status": deciding.effective_status,
        f"{prefix}-reset": str(round(limits.resets_at(started_at))),
        f"{prefix}-representative-claim": limits.deciding,
    }
    return headers | ({f"{prefix}-overage-status": limits.overage} if limits.overage else {})


def _count_headers(form: str, window: LimitWindow, reset: str) -> dict[str, str]:
    remaining = round(max(0.0, 1 - window.used) * _PER_WINDOW)
    values = {"limit": str(_PER_WINDOW), "remaining": str(remaining), "reset": reset}
    return {form.format(name): value for name, value in values.items()}


def _rfc3339(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _format_delay(seconds: float) -> str:
    """Return a delay as 5h23m10s, rounded up."""
    minutes, rest = divmod(-int(-seconds // 1), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{f'{hours}h' if hours else ''}{f'{minutes}m' if hours or minutes else ''}{rest}s"
