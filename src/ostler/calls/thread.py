"""Calls functions that write files in a thread: the disk must not stop the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from ostler.waits import set_stop_event

_P = ParamSpec("_P")
_T = TypeVar("_T")

_running: set[asyncio.Task[Any]] = set()


def is_thread_running() -> bool:
    """Return whether a function that was called with `run_in_thread` has not returned yet."""
    return bool(_running)


def _run_stoppable(stop: threading.Event, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    set_stop_event(stop)
    return work(*args, **kwargs)


async def run_in_thread(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call a function in a thread, and wait for it even if cancelled.

    The lock must not be released while the thread still writes.
    """
    stop = threading.Event()
    thread = asyncio.create_task(asyncio.to_thread(_run_stoppable, stop, work, *args, **kwargs))
    _running.add(thread)
    thread.add_done_callback(_running.discard)
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        # A wait for the lock of another process ends at once.
        stop.set()
        await asyncio.wait({thread})
        # Retrieve the exception, or asyncio logs it.
        thread.exception()
        raise
