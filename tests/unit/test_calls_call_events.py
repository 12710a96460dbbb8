"""The notices about a wait for a slot."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from ostler.calls import call_events
from ostler.calls.decision_log import DecisionLog
from ostler.calls.plugins import PluginRegistry
from ostler.model.notice import Notice, WaitEnded, WaitStarted
from ostler.testing.virtual_clock import VirtualClock

REASON = "a slot in pool medium, held by a"


class Runner:
    def __init__(self) -> None:
        self.notices: list[Notice] = []

    def notify(self, task: str, notice: Notice) -> None:
        self.notices.append(notice)


async def queue(runner: Any, seconds: float) -> None:
    progress: Any = SimpleNamespace(request=SimpleNamespace(task="t"))
    events = call_events.CallEvents(PluginRegistry(), runner, VirtualClock(), DecisionLog(None))
    with events.report_queueing(progress, lambda: REASON):
        await asyncio.sleep(seconds)


def test_a_short_wait_for_a_slot_is_not_recorded() -> None:
    """Most agents get a slot at once."""
    runner = Runner()
    asyncio.run(queue(runner, 0))
    assert runner.notices == []


def test_a_long_wait_for_a_slot_is_recorded_at_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the wait is unknown, so the notice has no time."""
    monkeypatch.setattr(call_events, "UNREPORTED_SECONDS", 0.0)
    runner = Runner()
    asyncio.run(queue(runner, 0.05))
    assert runner.notices == [WaitStarted(None, REASON), WaitEnded(REASON)]
