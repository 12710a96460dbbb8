"""The clock of leases, which all processes of a machine share."""

from __future__ import annotations

import time

_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)  # Linux


def read_boot_clock() -> float:
    """Return seconds that also count while the machine is suspended, unlike those of time.monotonic."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
