"""What is told of a wait for a place."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from ostler.model.notice import Notice, WaitEnded, WaitStarted
from ostler.testing.virtual_clock import VirtualClock
from ostler.worker import narrator
from ostler.worker.hooks import PluginRegistry

REASON = "a place in pool medium, and room on the machine"


class Diary:
    def __init__(self) -> None:
        self.notices: list[Notice] = []

    def note(self, task: str, notice: Notice) -> None:
        self.notices.append(notice)


async def queue(diary: Any, seconds: float) -> None:
    course: Any = SimpleNamespace(order=SimpleNamespace(task="t"))
    with narrator.Narrator(PluginRegistry(), diary, VirtualClock()).queueing(course, "medium"):
        await asyncio.sleep(seconds)


def test_a_short_wait_for_a_place_is_not_told() -> None:
    """Most agents have theirs at once."""
    diary = Diary()
    asyncio.run(queue(diary, 0))
    assert diary.notices == []


def test_a_long_wait_for_a_place_is_told_at_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows when it ends, so no time is promised."""
    monkeypatch.setattr(narrator, "_MOMENT_SECONDS", 0.0)
    diary = Diary()
    asyncio.run(queue(diary, 0.05))
    assert diary.notices == [WaitStarted(None, REASON), WaitEnded(REASON)]
