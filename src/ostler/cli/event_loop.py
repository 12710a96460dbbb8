"""Runs the coroutine of a command."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from contextlib import ExitStack
from typing import Any, TypeVar

_T = TypeVar("_T")
_DESCRIPTORS = 4  # an event loop opens three before it can run anything


def run_loop(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine in a new event loop; raise OSError if the process cannot open enough files for one."""
    try:
        # An event loop that is half made prints a traceback when it is deleted.
        with ExitStack() as opened:
            for _ in range(_DESCRIPTORS):
                opened.callback(os.close, os.open("/", os.O_RDONLY))
    except OSError:
        work.close()
        raise
    return asyncio.run(work)
