"""Sleeps of an idle worker that end at a write of another process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from ostler.engine import journal_watch
from ostler.engine.journal_watch import WakeUp
from ostler.store.sqlite.store import SqliteStore

POLL = 0.1


class ReportingStore(SqliteStore):
    """A store whose reports of writes are made by the test."""

    def __init__(self) -> None:
        super().__init__(Path("unused"))
        self.report: Callable[[], None] = lambda: None

    def listen(self, wake: Callable[[], None]) -> ReportingStore:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.report = wake
        return self

    def close(self) -> None:
        return


async def count_sleeps(wake_up: WakeUp, seconds: float) -> int:
    count, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        await wake_up.sleep(POLL)
        count += 1
    return count


def start() -> tuple[WakeUp, ReportingStore]:
    store = ReportingStore()
    return WakeUp(cast("SqliteStore", store)), store


def test_a_write_that_is_reported_before_its_flush_is_polled_for() -> None:
    """SQLite writes its log, which is reported, then flushes it; only then can others read the write."""

    async def run() -> None:
        wake_up, store = start()
        store.report()
        reported = time.monotonic()
        for _ in range(4):
            await wake_up.sleep(POLL)
        assert time.monotonic() - reported < 0.9  # one sleep after the report would take a second

    asyncio.run(run())


def test_a_report_between_two_sleeps_ends_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is reported while the journal is read was possibly written after that."""
    monkeypatch.setattr(journal_watch, "_SETTLED_SECONDS", 0.1)

    async def run() -> None:
        wake_up, store = start()
        store.report()
        await wake_up.sleep(POLL)
        await asyncio.sleep(0.15)  # until it is quiet
        store.report()
        await asyncio.sleep(0)
        began = time.monotonic()
        await wake_up.sleep(POLL)
        assert time.monotonic() - began < 0.9

    asyncio.run(run())


def test_many_reports_end_no_more_sleeps_than_polling() -> None:
    """Another process records the output of its agents many times a second."""

    async def run() -> None:
        wake_up, store = start()

        async def report() -> None:
            while True:
                store.report()
                await asyncio.sleep(0.005)

        reports = asyncio.create_task(report())
        assert await count_sleeps(wake_up, 0.5) <= 0.5 / POLL + 2
        reports.cancel()

    asyncio.run(run())
