"""Evidence that the kernel killed something for want of memory."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ostler.process.cgroup import own_groups

_VMSTAT = Path("/proc/vmstat")
_COUNT = re.compile(rb"^oom_kill (\d+)$", re.MULTILINE)


def count_oom_kills() -> int | None:
    """How many so far in our control group, else on the whole machine; None: nobody counts them."""
    return _count_in(_counter())


def oom_killed_since(before: int | None) -> bool:
    """Whether there were more since `before` was counted."""
    now = count_oom_kills()
    return now is not None and before is not None and now > before


@cache
def _counter() -> Path:
    """The count nearest to us: that of the machine has the kills in other containers too."""
    counters = (group.place / group.kills for group in own_groups())
    return next((path for path in counters if _count_in(path) is not None), _VMSTAT)


def _count_in(path: Path) -> int | None:
    try:
        found = _COUNT.search(path.read_bytes())
    except OSError:
        return None
    return int(found[1]) if found else None
