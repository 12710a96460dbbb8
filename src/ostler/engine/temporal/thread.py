"""The thread with the event loop of everything that talks to the Temporal server.

A journal that does not answer blocks the engine's loop for seconds; heartbeats must go on meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

_T = TypeVar("_T")
_END_SECONDS = 5.0


class LoopThread:
    """A daemon thread with an event loop of its own."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Run a coroutine there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine there, from a coroutine of another loop."""
        return await asyncio.wrap_future(self.submit(work))

    def notify(self, call: Callable[[], object]) -> None:
        """Call a function there, without waiting for it."""
        self._loop.call_soon_threadsafe(call)

    def stop(self) -> None:
        """End the loop; what still runs there is dropped."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_END_SECONDS)
