"""Reads `rate_limit_event`, which claude prints after each answer when it uses a subscription."""

from __future__ import annotations

from msgspec import Raw, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from ostler.executors.agent_json import decode_json
from ostler.model.limits.names import OVERAGE, QUOTA, find_family, find_length
from ostler.model.limits.numbers import read_share, read_time
from ostler.model.limits.window import ReportedWindow, WindowStatus

_STATUSES: dict[str | None, WindowStatus] = {"allowed_warning": "warning", "rejected": "rejected"}


class _Window(Struct, frozen=True, rename="camel"):
    utilization: float | None = None
    resets_at: float | None = None
    status: str | None = None


class _Info(Struct, frozen=True, rename="camel"):
    status: str | None = None
    resets_at: float | None = None
    rate_limit_type: str | None = None  # the window that decides; a limit per minute has none
    utilization: float | None = None
    unified_windows: dict[str, _Window] | None = None
    is_using_overage: bool | None = None
    overage_status: str | None = None
    overage_resets_at: float | None = None


_INFO = Decoder(_Info)


def read_windows(rate_limit_info: Raw) -> tuple[ReportedWindow, ...]:
    """Return all windows of the account; empty for a limit that is not one of the subscription.

    With extra usage the account continues although a window is used up: that window has a warning.
    """
    info = decode_json(_INFO, rate_limit_info) or _Info()
    windows = {name: _report(name, one) for name, one in (info.unified_windows or {}).items()}
    if info.rate_limit_type or info.resets_at is not None:
        name = info.rate_limit_type or QUOTA
        windows[name] = _add_deciding(windows.get(name), name, info)
    if info.is_using_overage:
        windows = {name: _continue(one) for name, one in windows.items()}
    if info.is_using_overage or info.overage_resets_at is not None:
        windows.setdefault(OVERAGE, _report(OVERAGE, _overage(info)))
    return tuple(windows.values())


def _report(name: str, window: _Window) -> ReportedWindow:
    return ReportedWindow(
        name,
        read_share(window.utilization),
        read_time(window.resets_at),
        _STATUSES.get(window.status, "allowed"),
        find_length(name),
        find_family(name),
    )


def _add_deciding(known: ReportedWindow | None, name: str, info: _Info) -> ReportedWindow:
    """Return the window that decides, with what is reported beside the list of windows."""
    decided = _report(name, _Window(info.utilization, info.resets_at, info.status))
    if known is None:
        return decided
    used = known.used if known.used is not None else decided.used
    return replace(decided, used=used, resets_at=decided.resets_at or known.resets_at)


def _continue(window: ReportedWindow) -> ReportedWindow:
    return replace(window, status="warning") if window.status == "rejected" else window


def _overage(info: _Info) -> _Window:
    return _Window(None, info.overage_resets_at, info.overage_status)
