"""A line for a few places, in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostler.testing.virtual_clock import VirtualClock
from ostler.worker.line import Line


@dataclass
class Visitor:
    """Someone who comes, waits, stays and goes; or who is called away."""

    arrives: int
    patience: int
    stays: int
    called_away: int | None  # so long after the arrival
    fails: bool


VISITORS = st.lists(
    st.builds(
        Visitor,
        arrives=st.integers(0, 6),
        patience=st.integers(0, 6),
        stays=st.integers(0, 4),
        called_away=st.none() | st.integers(0, 6),
        fails=st.booleans(),
    ),
    max_size=12,
)


class Watched:
    """A line whose every event is on record."""

    def __init__(self, places: int) -> None:
        self.clock = VirtualClock(now=0.0)
        self.line = Line(places, self.clock)
        self.came: list[int] = []
        self.entered: list[int] = []
        self.gave_up: list[int] = []
        self.inside = self.most = 0

    async def visit(self, number: int, visitor: Visitor) -> None:
        await self.clock.sleep(visitor.arrives)
        self.came.append(number)
        try:
            await self.line.enter(visitor.patience)
        except TimeoutError:
            self.gave_up.append(number)
            return
        self.entered.append(number)
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.clock.sleep(visitor.stays)
            if visitor.fails:
                raise RuntimeError
        finally:
            self.inside -= 1
            self.line.leave()

    async def call_away(self, visit: asyncio.Task[None], visitor: Visitor) -> None:
        if visitor.called_away is not None:
            await self.clock.sleep(visitor.arrives + visitor.called_away)
            visit.cancel()

    async def day(self, visitors: list[Visitor]) -> None:
        visits = [asyncio.create_task(self.visit(n, one)) for n, one in enumerate(visitors)]
        calls = [self.call_away(visit, one) for visit, one in zip(visits, visitors, strict=True)]
        await asyncio.gather(*calls)
        await asyncio.gather(*visits, return_exceptions=True)


@settings(max_examples=200, deadline=None)
@given(places=st.integers(1, 3), visitors=VISITORS)
def test_no_place_is_lost_or_given_twice(places: int, visitors: list[Visitor]) -> None:
    """Whoever times out, fails or is called away, and when: the order holds and all places come back."""
    watched = Watched(places)
    asyncio.run(watched.day(visitors))
    assert watched.most <= places
    assert (watched.line.taken, watched.line.queued, watched.inside) == (0, 0, 0)
    assert watched.entered == [number for number in watched.came if number in watched.entered]


@settings(max_examples=50, deadline=None)
@given(places=st.integers(1, 3), visitors=VISITORS)
def test_who_is_patient_enters(places: int, visitors: list[Visitor]) -> None:
    """With patience for the whole day nobody gives up, and a place never stays empty while someone waits."""
    patient = [Visitor(one.arrives, 10_000, one.stays, None, one.fails) for one in visitors]
    watched = Watched(places)
    asyncio.run(watched.day(patient))
    assert watched.entered == watched.came
    assert watched.gave_up == []


class ByHand(VirtualClock):
    """A clock on which each wait ends when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[asyncio.Future[None]] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(asyncio.get_running_loop().create_future())
        await self.waits[-1]

    def ring(self, number: int) -> None:
        if number < len(self.waits) and not self.waits[number].done():
            self.waits[number].set_result(None)


MOVES = st.lists(
    st.one_of(
        st.just(("ask", 0)),
        st.just(("leave", 0)),
        st.just(("turn", 0)),
        st.tuples(st.sampled_from(["cancel", "ring"]), st.integers(0, 7)),
    ),
    max_size=40,
)


@settings(max_examples=300, deadline=None)
@given(places=st.integers(1, 2), moves=MOVES)
def test_no_order_of_moves_within_one_turn_breaks_it(places: int, moves: list[tuple[str, int]]) -> None:
    """Leaving, asking, cancelling and timing out in any order, with or without a turn of the loop between."""

    async def story() -> None:
        clock = ByHand()
        line = Line(places, clock)
        asked: list[asyncio.Task[None]] = []
        entered: list[int] = []
        left = 0

        async def ask(number: int) -> None:
            await line.enter(1)
            entered.append(number)

        for move, number in moves:
            if move == "ask":
                asked.append(asyncio.create_task(ask(len(asked))))
            elif move == "turn":
                await asyncio.sleep(0)
            elif move == "ring":
                clock.ring(number)
            elif move == "cancel" and number < len(asked):
                asked[number].cancel()
            elif move == "leave" and left < len(entered):
                left += 1
                line.leave()
            assert len(entered) - left <= line.taken <= places
        while left < len(entered) or not all(task.done() for task in asked):
            await asyncio.sleep(0)
            if left < len(entered):
                left += 1
                line.leave()
        if places == 1:  # with two, who finds one free in passing may be seen before who was just handed one
            assert entered == sorted(entered)
        assert (line.taken, line.queued) == (0, 0)
        await asyncio.gather(*asked, return_exceptions=True)

    asyncio.run(story())


def test_a_cancellation_at_the_hand_over_passes_the_place_on() -> None:
    """The place is given and its taker is cancelled in the same turn of the loop: the next one has it."""

    async def story() -> tuple[int, bool]:
        line = Line(1, VirtualClock())
        await line.enter(1)
        first = asyncio.create_task(line.enter(100))
        second = asyncio.create_task(line.enter(100))
        await asyncio.sleep(0)
        line.leave()
        first.cancel()
        await asyncio.wait((first, second))
        return line.taken, first.cancelled() and second.exception() is None

    assert asyncio.run(story()) == (1, True)


def test_a_cancellation_at_the_timeout_gives_nothing_back() -> None:
    """The time is up and the waiter is cancelled in the same turn: there is no place to return."""

    async def story() -> int:
        line = Line(1, VirtualClock())
        await line.enter(1)
        waiting = asyncio.create_task(line.enter(5))
        await asyncio.sleep(0)
        line._waiting[0].set_exception(TimeoutError())
        waiting.cancel()
        await asyncio.wait((waiting,))
        return line.taken

    assert asyncio.run(story()) == 1


def test_nothing_is_left_of_a_wait_that_ended_well() -> None:
    """The alarm of who has been given a place is off."""

    async def story() -> int:
        line = Line(1, ByHand())
        await line.enter(1)
        waiting = asyncio.create_task(line.enter(100))
        await asyncio.sleep(0)
        line.leave()
        await waiting
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert asyncio.run(story()) == 1


def test_a_timeout_counts_from_the_asking() -> None:
    """Who waits five seconds waits five seconds, and no place is taken."""

    async def story() -> tuple[float, int, int]:
        clock = VirtualClock(now=0.0)
        line = Line(1, clock)
        await line.enter(0)
        with pytest.raises(TimeoutError):
            await line.enter(5)
        return clock.now(), line.taken, line.queued

    assert asyncio.run(story()) == (5.0, 1, 0)
