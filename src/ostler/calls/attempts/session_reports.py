"""Passes the session ids of one attempt on, in a thread: who receives them writes files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Self

from ostler.calls.thread import run_in_thread


class SessionReports:
    """Passes ids on one after the other; the end of the block waits for the last one.

    An error is raised at the next id, and at the end of the block.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._last: asyncio.Task[None] | None = None

    def add(self, session_id: str) -> None:
        """Pass an id on soon; raises the error of an earlier one."""
        if self._last is not None and self._last.done():
            self._last.result()
        self._last = asyncio.create_task(self._pass_on(session_id, self._last))

    async def _pass_on(self, session_id: str, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        await run_in_thread(self._report, session_id)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        if self._last is None:
            return
        await asyncio.wait({self._last})
        failure = self._last.exception()
        if failure is not None and error is None:
            raise failure
