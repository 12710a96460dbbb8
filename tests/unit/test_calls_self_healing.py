"""Self-healing: many failures of one kind adjust a run, a bounded number of times (C49)."""

from __future__ import annotations

import asyncio

import pytest

from ostler.calls.models.slots import WorkerPool
from ostler.calls.self_healing import (
    COOLDOWN_SECONDS,
    Adjustment,
    RunHealth,
    RunLimits,
    SelfHealing,
    create_self_healing,
    extend_timeout,
    record_failure,
)
from ostler.config.settings import RetrySettings
from ostler.errors import Code
from ostler.testing.virtual_clock import VirtualClock

LIMIT, SLOW, OOM, BROKEN = Code.RATE_LIMITED, Code.TIMEOUT, Code.AGENT_OOM, Code.AGENT_FAILED


def adjustments(*codes: Code | None, every: float = 0.0, health: RunHealth | None = None) -> list[Adjustment]:
    """Return the adjustments that follow from these failures."""
    health, made = health or RunHealth(RunLimits(1.0)), []
    for number, code in enumerate(codes):
        health, adjustment = record_failure(health, code, number * every)
        if adjustment:
            made.append(adjustment)
    return made


@pytest.mark.parametrize(
    ("codes", "kinds"),
    [
        ([LIMIT] * 5, []),
        ([LIMIT] * 6, ["limits"]),
        ([LIMIT, Code.OVERLOADED, Code.QUOTA_EXCEEDED] * 2, ["limits"]),
        ([SLOW, Code.IDLE_TIMEOUT] * 3, ["timeouts"]),
        ([OOM] * 6, ["memory"]),
        ([BROKEN, Code.NETWORK, Code.NO_RESULT] * 2, ["other"]),
        ([LIMIT, SLOW] * 5, []),
        ([SLOW] * 5 + [LIMIT] * 5, []),
        ([SLOW] * 4 + [LIMIT] * 6, ["limits"]),
        ([SLOW, SLOW] + [LIMIT] * 5 + [SLOW, OOM, LIMIT], ["limits"]),
        ([Code.AUTH_FAILED, Code.BILLING, Code.MODEL_NOT_FOUND] * 5, []),
        ([None] * 20, []),
    ],
)
def test_six_of_the_last_ten_are_enough(codes: list[Code | None], kinds: list[str]) -> None:
    """Failures that no adjustment prevents, such as a rejected key, are not counted."""
    assert [adjustment.kind for adjustment in adjustments(*codes)] == kinds


def test_three_times_at_most_and_with_a_pause_between() -> None:
    """Failures during the cooldown count afterwards."""
    assert len(adjustments(*[LIMIT] * 100)) == 1
    assert len(adjustments(*[LIMIT] * 100, every=COOLDOWN_SECONDS / 6)) == 3
    after = adjustments(*[LIMIT] * 100, every=COOLDOWN_SECONDS / 6)
    assert [adjustment.limits.delay_seconds for adjustment in after] == [2.0, 4.0, 8.0]


@pytest.mark.parametrize(
    ("code", "before", "after"),
    [
        (LIMIT, RunLimits(20.0), RunLimits(30.0)),
        (LIMIT, RunLimits(45.0), RunLimits(45.0)),
        (BROKEN, RunLimits(1.0), RunLimits(3.0)),
        (BROKEN, RunLimits(9.0), RunLimits(10.0)),
        (SLOW, RunLimits(1.0, 1.5), RunLimits(1.0, 2.25)),
        (OOM, RunLimits(1.0), RunLimits(1.0)),
    ],
)
def test_what_changes(code: Code, before: RunLimits, after: RunLimits) -> None:
    """Delays grow up to 30 s, or 10 s for other failures; nothing ever gets shorter."""
    (adjustment,) = adjustments(*[code] * 6, health=RunHealth(before))
    assert adjustment.limits == after


@pytest.mark.parametrize(
    ("seconds", "stretch", "longer"),
    [(300.0, 1.5, 450.0), (1500.0, 1.5, 1800.0), (3600.0, 1.5, 3600.0), (600.0, 1.0, 600.0)],
)
def test_deadlines_grow_up_to_half_an_hour(seconds: float, stretch: float, longer: float) -> None:
    """A timeout that is already longer is not changed."""
    assert extend_timeout(seconds, stretch) == longer


def test_the_sentence_shows_what_happened_and_what_changes() -> None:
    """The message is shown in the feed."""
    (adjustment,) = adjustments(SLOW, SLOW, *[LIMIT] * 6)
    assert (
        adjustment.message
        == "6 of 8 failures were limits: half as many agents at once, retry delays from 2 s"
    )


def test_it_is_off_unless_asked_for() -> None:
    """retry.self_healing."""
    slots = WorkerPool({}, VirtualClock())
    assert create_self_healing(RetrySettings(), slots) is None
    assert create_self_healing(RetrySettings(self_healing=True), slots) is not None


def test_half_of_the_places_that_were_in_use_are_left() -> None:
    """Held slots stay held; the next agents wait until few enough are in use."""
    clock = VirtualClock()
    slots = WorkerPool({}, clock)
    healer = SelfHealing(RetrySettings(self_healing=True), slots)
    order: list[str] = []

    async def work(name: str, done: asyncio.Event) -> None:
        async with slots.acquire("medium", 1e6, name):
            order.append(name)
            await done.wait()

    async def go() -> None:
        doors = {name: asyncio.Event() for name in "abcdef"}
        tasks = [asyncio.create_task(work(name, door)) for name, door in doors.items()]
        await asyncio.sleep(0)
        assert (order, slots.stats()["medium"].queued) == ([*"abcde"], 1)
        for _ in range(6):
            healer.record_failure(Code.RATE_LIMITED, clock.now())
        stats = slots.stats()["medium"]
        assert (stats.active, stats.idle, stats.limit, stats.queued) == (5, 0, 2, 1)
        for name in "abc":
            doors[name].set()
            for _ in range(5):
                await asyncio.sleep(0)
        assert order == [*"abcde"] and slots.stats()["medium"].active == 2
        for name in "def":
            doors[name].set()
        await asyncio.wait_for(asyncio.gather(*tasks), 20)
        assert order == [*"abcdef"] and slots.stats()["medium"].active == 0

    asyncio.run(go())
    assert healer.retry.base_delay_seconds == 2.0
    assert slots.stats()["background"].limit == 1, "no pool is ever closed"
