"""The wait for space on a full disk: printed once, with a growing delay, and bounded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from ostler.errors import Code, OstlerError
from ostler.waits import report_wait

SPACE_WAIT_SECONDS = 1800.0
_FIRST_DELAY_SECONDS, _MAX_DELAY_SECONDS = 0.5, 30.0
_T = TypeVar("_T")


async def repeat_while_full(
    work: Callable[[], Awaitable[_T]],
    sleep: Callable[[float], Awaitable[object]],
    limit_seconds: float = SPACE_WAIT_SECONDS,
) -> _T:
    """Await what writes files; while the disk is full, wait and repeat it. Raises the last error."""
    waited, delay = 0.0, _FIRST_DELAY_SECONDS
    while True:
        try:
            result = await work()
        except OstlerError as error:
            if error.code is not Code.DISK_FULL or waited >= limit_seconds:
                raise
            if not waited:
                report_wait(f"waiting for free space: {error.message}")
        else:
            if waited:
                report_wait("the wait for free space is over")
            return result
        await sleep(delay)
        waited, delay = waited + delay, min(2 * delay, _MAX_DELAY_SECONDS)
