"""How much of a provider's window was used while an attempt ran."""

from __future__ import annotations

from msgspec import Struct

_SAME_RESET_SECONDS = 60.0  # providers round the reset time


class WindowChange(Struct, frozen=True, omit_defaults=True):
    """The first and the last use of a window that the provider reported during an attempt."""

    name: str  # five_hour, seven_day, seven_day_opus, day, ...
    first: float  # share used, 0 to 1
    last: float
    resets_at: float | None = None
    reports: int = 1  # of this period of the window

    def is_before_reset(self, resets_at: float | None) -> bool:
        """Return whether a report with this reset time is about the same period of the window."""
        if self.resets_at is None or resets_at is None:
            return self.resets_at is resets_at
        return abs(self.resets_at - resets_at) <= _SAME_RESET_SECONDS
