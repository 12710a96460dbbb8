"""Which boundaries of a run a test kills at: all of them in make test-full, one of each kind in make test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

FULL = bool(os.environ.get("OSTLER_FULL"))


def kill_at_boundaries(
    dies: Callable[[int], bool], least: int, lane: int = 0, stride: int = 1, quick: Iterable[int] = ()
) -> None:
    """Let a run die when it reaches a place for the nth time, for every n of this lane.

    `dies` returns False when the run ended before that. The place must be reached `least` times or more.
    make test takes the numbers of `quick`, by default one in the middle.
    """
    if not FULL:
        for number in quick or [(least + 1) // 2]:
            assert dies(number), f"the place was not reached {number} times"
        return
    number = lane + 1
    while dies(number):
        number += stride
    assert number > least, f"the place was reached {number - 1} times at most"
