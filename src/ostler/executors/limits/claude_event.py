"""Reads `rate_limit_event`, which claude prints after each answer when it uses a subscription."""

from __future__ import annotations

from msgspec import Raw
from msgspec.json import Decoder

from ostler.executors.agent_json import decode_json
from ostler.model.limits.subscription import SubscriptionReport
from ostler.model.limits.window import ReportedWindow

_INFO = Decoder(SubscriptionReport)


def read_windows(rate_limit_info: Raw, now: float) -> tuple[ReportedWindow, ...]:
    """Return all windows of the account; empty for a limit that is not one of the subscription."""
    report = decode_json(_INFO, rate_limit_info)
    return report.list_windows("event", now) if report else ()


def is_rejected(rate_limit_info: Raw) -> bool:
    """Return whether a window of the account has rejected the last request."""
    report = decode_json(_INFO, rate_limit_info)
    return report is not None and report.is_rejected
