"""The last call of a model or an executor as text and as JSON."""

from __future__ import annotations

from ostler.clock import format_rfc3339
from ostler.store.queries.last_calls import LastCall

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def describe_last_call(call: LastCall | None, now: float) -> str:
    """Return how the last call ended and when, such as `AUTH_FAILED 12 min ago`; empty without one."""
    return f"{call.code or 'ok'} {_format_age(now - call.at)}" if call else ""


def last_call_json(call: LastCall | None) -> dict[str, object] | None:
    """Return the last call for JSON."""
    return {"at": format_rfc3339(call.at), "code": call.code, "message": call.message} if call else None


def _format_age(seconds: float) -> str:
    if seconds < _MINUTE:
        return "just now"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min ago"
    return f"{seconds / _HOUR:.0f} h ago" if seconds < _DAY else f"{seconds / _DAY:.0f} d ago"
