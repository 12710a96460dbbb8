"""How many examples a property-based test tries."""

from __future__ import annotations

import os

FULL = bool(os.environ.get("OSTLER_FULL"))


def examples(count: int) -> int:
    """Return the count in make test-full, and a quarter of it in make test."""
    return count if FULL else max(20, count // 4)
