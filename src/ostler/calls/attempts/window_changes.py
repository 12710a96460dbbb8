"""Collects how much of each window was used when an attempt began and when it ended."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ostler.model.call import AgentEvent, LimitReported
from ostler.model.limits.window import ReportedWindow
from ostler.model.limits.window_change import WindowChange


class WindowChanges:
    """The changes of one attempt. After a reset they start again, because the use before it is gone."""

    def __init__(self) -> None:
        self._changes: dict[str, WindowChange] = {}

    def on_event(self, event: AgentEvent) -> None:
        if isinstance(event, LimitReported):
            self._add(event.windows)

    def collect(self, last: Iterable[ReportedWindow] = ()) -> tuple[WindowChange, ...]:
        """Return the changes; `last` are windows of the result, for executors that send no events."""
        self._add(window for window in last if window.name not in self._changes)
        return tuple(self._changes.values())

    def _add(self, windows: Iterable[ReportedWindow]) -> None:
        for window in windows:
            if window.used is not None:
                known = self._changes.get(window.name)
                self._changes[window.name] = _continue(known, window, window.used)


def _continue(known: WindowChange | None, window: ReportedWindow, used: float) -> WindowChange:
    if known is None or not known.is_before_reset(window.resets_at):
        return WindowChange(window.name, used, used, window.resets_at)
    return replace(known, last=used, resets_at=window.resets_at, reports=known.reports + 1)
