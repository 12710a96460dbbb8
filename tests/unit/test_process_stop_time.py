"""The deadlines of programs that are stopped together."""

from __future__ import annotations

import asyncio
from threading import Thread

from ostler.process.stop_time import StopTimes


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_stops_of_one_turn_have_one_deadline() -> None:
    """The last of many programs is killed with the first; a later stop has its own deadline."""

    async def stop() -> list[float]:
        clock = Clock()
        times = StopTimes(clock)
        found = [times.find_kill_time(5.0)]
        clock.now += 0.5
        found.append(times.find_kill_time(5.0))
        await asyncio.sleep(0)
        found.append(times.find_kill_time(5.0))
        return found

    assert asyncio.run(stop()) == [105.0, 105.0, 105.5]


def test_a_program_that_is_stopped_late_has_half_of_its_time() -> None:
    """A machine that is too busy to tell all programs in time kills none without a time to exit."""

    async def stop() -> list[float]:
        clock = Clock()
        times = StopTimes(clock)
        times.find_kill_time(1.0)
        clock.now += 3.0
        return [times.find_kill_time(1.0), times.find_kill_time(0.0)]

    assert asyncio.run(stop()) == [103.5, 103.0]


def test_each_thread_has_turns_of_its_own() -> None:
    """A loop of another thread does not shorten the time of a program; both share the forker."""
    clock, found = Clock(), list[float]()
    times = StopTimes(clock)

    async def stop() -> None:
        found.append(times.find_kill_time(5.0))

    async def stop_in_two_threads() -> None:
        await stop()
        clock.now += 2.0
        other = Thread(target=lambda: asyncio.run(stop()))
        other.start()
        other.join()

    asyncio.run(stop_in_two_threads())
    assert found == [105.0, 107.0]
