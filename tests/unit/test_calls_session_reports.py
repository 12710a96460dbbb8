"""The ids of sessions are passed on in a thread, in order, and the block waits for them."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from ostler.calls.attempts.session_reports import SessionReports
from ostler.errors import Code, OstlerError


def test_ids_are_passed_on_in_order_and_not_in_the_event_loop() -> None:
    """The first one takes longer than the second; the end of the block waits for both."""
    seen = list[str]()

    def report(session_id: str) -> None:
        assert threading.current_thread() is not threading.main_thread()
        time.sleep(0.05 if session_id == "a" else 0.0)
        seen.append(session_id)

    async def run() -> None:
        async with SessionReports(report) as reports:
            reports.add("a")
            reports.add("b")
            assert seen == []

    asyncio.run(run())
    assert seen == ["a", "b"]


def test_a_cancellation_waits_for_the_thread() -> None:
    """What reads the files after the attempt must not overlap with it."""
    seen, began = list[str](), threading.Event()

    def report(session_id: str) -> None:
        began.set()
        time.sleep(0.05)
        seen.append(session_id)

    async def attempt() -> None:
        async with SessionReports(report) as reports:
            reports.add("a")
            await asyncio.Event().wait()

    async def run() -> None:
        work = asyncio.create_task(attempt())
        await asyncio.to_thread(began.wait)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(run())
    assert seen == ["a"]


def test_an_error_is_raised_at_the_next_id_and_at_the_end() -> None:
    """A full disk stops the agent."""

    def fail(session_id: str) -> None:
        raise OstlerError(Code.DISK_FULL, "no room")

    async def at_next() -> None:
        async with SessionReports(fail) as reports:
            reports.add("a")
            while True:
                await asyncio.sleep(0.001)
                reports.add("b")

    async def at_end() -> None:
        async with SessionReports(fail) as reports:
            reports.add("a")

    for work in (at_next, at_end):
        with pytest.raises(OstlerError, match="no room"):
            asyncio.run(asyncio.wait_for(work(), 10))
