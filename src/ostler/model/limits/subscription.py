"""The limits of a subscription of Anthropic, from an event of claude or from the headers of a response."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.limits.names import OVERAGE, QUOTA, find_family, find_length, read_name
from ostler.model.limits.numbers import read_share, read_time
from ostler.model.limits.window import ReportedWindow, Source, WindowStatus

_STATUSES: dict[str | None, WindowStatus] = {"allowed_warning": "warning", "rejected": "rejected"}


class PartReport(Struct, frozen=True, rename="camel"):
    """The report about one window; status: allowed, allowed_warning or rejected."""

    utilization: float | None = None
    resets_at: float | None = None
    status: str | None = None


class SubscriptionReport(Struct, frozen=True, rename="camel"):
    """The report about an account; the names are those of the event."""

    status: str | None = None
    resets_at: float | None = None
    rate_limit_type: str | None = None  # the window that decides; a limit per minute has none
    utilization: float | None = None
    unified_windows: dict[str, PartReport] | None = None
    is_using_overage: bool | None = None
    overage_status: str | None = None
    overage_resets_at: float | None = None

    @property
    def is_rejected(self) -> bool:
        """Whether the last request was rejected, and not only requests of other models."""
        continues = self.is_using_overage and self.overage_status != "rejected"
        return self.status == "rejected" and not continues

    def list_windows(self, source: Source, now: float) -> tuple[ReportedWindow, ...]:
        """Return all windows of the account; empty for a limit that is not one of the subscription.

        With extra usage the account continues although a window is used up: that window has a warning.
        """
        parts: Mapping[str, PartReport] = self.unified_windows or {}
        windows = {
            (name := read_name(given)): _report(name, part, source, now) for given, part in parts.items()
        }
        if self.rate_limit_type or self.resets_at is not None:
            name = read_name(self.rate_limit_type or QUOTA)
            windows[name] = self._add_deciding(windows.get(name), name, source, now)
        if self.is_using_overage:
            windows = {name: _continue(window) for name, window in windows.items()}
        if self.is_using_overage or self.overage_resets_at is not None:
            overage = PartReport(None, self.overage_resets_at, self.overage_status)
            windows.setdefault(OVERAGE, _report(OVERAGE, overage, source, now))
        return tuple(windows.values())

    def _add_deciding(
        self, known: ReportedWindow | None, name: str, source: Source, now: float
    ) -> ReportedWindow:
        """Return the window that decides, with what is reported beside the list of windows."""
        decided = _report(name, PartReport(self.utilization, self.resets_at, self.status), source, now)
        if known is None:
            return decided
        used = decided.used if known.used is None else known.used
        reset = known.resets_at if decided.resets_at is None else decided.resets_at
        return replace(decided, used=used, resets_at=reset)


def _report(name: str, part: PartReport, source: Source, now: float) -> ReportedWindow:
    return ReportedWindow(
        name,
        read_share(part.utilization),
        read_time(part.resets_at, now),
        _STATUSES.get(part.status, "allowed"),
        find_length(name),
        find_family(name),
        source,
    )


def _continue(window: ReportedWindow) -> ReportedWindow:
    return replace(window, status="warning") if window.status == "rejected" else window
