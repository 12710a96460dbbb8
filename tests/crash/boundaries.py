"""The boundaries at which a test kills a run: all in make test-full, one of each kind in make test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

FULL = bool(os.environ.get("OSTLER_FULL"))


def kill_at_boundaries(
    dies: Callable[[int], bool], least: int, lane: int = 0, stride: int = 1, quick: Iterable[int] = ()
) -> None:
    """Kill a run when it reaches a failpoint for the nth time, for every n of this lane.

    `dies` returns False when the run ended before that. The failpoint must be reached `least` times or more.
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
