"""How many examples a property-based test tries."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

FULL = bool(os.environ.get("OSTLER_FULL"))


def examples(count: int) -> int:
    """Return the count in make test-full, and a quarter of it in make test."""
    return count if FULL else max(20, count // 4)


_T = TypeVar("_T")


def sample(cases: Iterable[_T], every: int = 3) -> list[_T]:
    """Every third case; all of them under make test-full."""
    return list(cases)[:: 1 if FULL else every]
