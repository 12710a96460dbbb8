"""Tells one plugin what happens, in a thread of its own, until it has failed too often."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from queue import SimpleQueue
from typing import Any

MOST_FAILURES = 3
MOST_WAITING = 10_000

Method = Callable[[Any], object]


class Delivery:
    """The methods of one plugin, and what it has still to be told. `offer` and `close` are for one thread."""

    def __init__(
        self, name: str, methods: Mapping[type, Method], logger: logging.Logger, limit_seconds: float
    ) -> None:
        self._name, self._methods = name, methods
        self._logger = logger
        self._limit = limit_seconds
        self._waiting: SimpleQueue[object] = SimpleQueue()  # None: nothing more will come
        self._thread: threading.Thread | None = None
        self._busy_since: float | None = None
        self._failures = 0
        self.disabled = False

    def offer(self, value: object) -> None:
        """Have the plugin told, soon; nothing happens when it does not want to know."""
        if self.disabled or type(value) not in self._methods:
            return
        if self._waiting.qsize() >= MOST_WAITING or self._hangs():
            self._disable("it does not keep up")
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"plugin {self._name}", daemon=True)
            self._thread.start()
        self._waiting.put(value)

    def close(self, seconds: float) -> None:
        """Wait until it has heard all, or so long."""
        if self._thread is None:
            return
        self._waiting.put(None)
        if not self.disabled:
            self._thread.join(seconds)

    def _hangs(self) -> bool:
        """A method that does not return fails once in each limit that passes."""
        since = self._busy_since
        return (
            since is not None and (time.monotonic() - since) / self._limit >= MOST_FAILURES - self._failures
        )

    def _run(self) -> None:
        loop = asyncio.new_event_loop()
        try:
            while (value := self._waiting.get()) is not None and not self.disabled:
                self._tell(value, loop)
        finally:
            loop.close()

    def _tell(self, value: object, loop: asyncio.AbstractEventLoop) -> None:
        self._busy_since = begun = time.monotonic()
        try:
            answer = self._methods[type(value)](value)
            if isawaitable(answer):
                loop.run_until_complete(_within(answer, self._limit))
            if (took := time.monotonic() - begun) > self._limit:
                self._fail(value, f"it took {took:.1f} s")
        except BaseException as error:  # noqa: BLE001  (other people's code; even SystemExit ends only itself)
            self._fail(value, f"{type(error).__name__}: {error}")
        finally:
            self._busy_since = None

    def _fail(self, value: object, why: str) -> None:
        self._failures += 1
        said = f"{type(value).__name__}: {why}"
        self._logger.info("plugin %s failed at %s", self._name, said)
        if self._failures >= MOST_FAILURES:
            self._disable(f"it failed {MOST_FAILURES} times, last at {said}")

    def _disable(self, why: str) -> None:
        if not self.disabled:
            self.disabled = True
            self._logger.warning("plugin %s is switched off for this run: %s", self._name, why)


async def _within(answer: Awaitable[object], seconds: float) -> None:
    async with asyncio.timeout(seconds):
        await answer
