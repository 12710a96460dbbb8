"""Memory for one more agent, in virtual time."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from ostler.calls.host import DEFAULT_FOOTPRINT_MB, Host, get_available_memory_mb, get_used_memory_mb
from ostler.config.settings import HostSettings
from ostler.errors import Code, OstlerError
from ostler.testing.virtual_clock import VirtualClock

SETTINGS = HostSettings(min_free_memory_mb=512, start_stagger_seconds=0.2)
PLENTY = 1_000_000


class Machine:
    """A machine with so much memory, and agents that grow to their size a while after their start."""

    def __init__(self, free_mb: int, settings: HostSettings = SETTINGS) -> None:
        self.clock = VirtualClock(now=0.0)
        self.free_mb = free_mb
        self.least_mb = free_mb
        self.taken_mb = 0
        self.starts: list[tuple[float, str]] = []
        self.host = Host(settings, self.clock, lambda: self.free_mb - self.taken_mb, lambda: self.taken_mb)

    async def agent(
        self, name: str, size_mb: int, seconds: float, grows_after: float, timeout: float
    ) -> None:
        async with self.host.reserve("claude", timeout) as admission:
            self.starts.append((self.clock.monotonic(), name))
            await self.clock.sleep(grows_after)
            self.taken_mb += size_mb
            self.least_mb = min(self.least_mb, self.free_mb - self.taken_mb)
            try:
                await self.clock.sleep(seconds)
            finally:
                self.taken_mb -= size_mb
            admission.peak_mb = size_mb


def test_available_memory_is_that_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes become whole megabytes."""
    monkeypatch.setattr("ostler.calls.host._MEMINFO", Path("/nowhere"))  # as on macOS
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=700 * 2**20 + 5))
    assert get_available_memory_mb() == 700


def test_available_memory_of_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's own estimate, in whole megabytes."""
    (tmp_path / "meminfo").write_text("MemFree:  1000 kB\nMemAvailable:    716805 kB\n")
    monkeypatch.setattr("ostler.calls.host._MEMINFO", tmp_path / "meminfo")
    assert get_available_memory_mb() == 700


@pytest.mark.parametrize("error", [OSError, NotImplementedError, RuntimeError, psutil.AccessDenied])
def test_a_system_without_memory_figures_blocks_nothing(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unknown value does not block a start."""

    def fail() -> None:
        raise error

    monkeypatch.setattr("ostler.calls.host._MEMINFO", Path("/nowhere"))  # as on macOS
    monkeypatch.setattr(psutil, "virtual_memory", fail)
    assert get_available_memory_mb() is None

    async def scenario() -> list[float]:
        clock = VirtualClock()
        async with Host(SETTINGS, clock, get_available_memory_mb).reserve("claude", 0):
            return clock.slept

    assert asyncio.run(scenario()) == []


def test_this_machine_reports_its_memory() -> None:
    """The real functions return real values."""
    assert (get_available_memory_mb() or 0) > 0
    assert get_used_memory_mb() >= 0


def test_the_first_start_does_not_wait() -> None:
    """With enough memory the first agent starts at once; the second waits for the stagger only."""

    async def scenario() -> list[float]:
        machine = Machine(PLENTY)
        async with machine.host.reserve("claude", 60):
            assert machine.clock.slept == []
            async with machine.host.reserve("claude", 60):
                return machine.clock.slept

    assert asyncio.run(scenario()) == [pytest.approx(0.2)]


def test_a_late_start_does_not_wait_for_the_stagger() -> None:
    """Starts that are far apart by themselves are not delayed."""

    async def scenario() -> list[float]:
        machine = Machine(PLENTY)
        async with machine.host.reserve("claude", 60):
            machine.clock.advance(0.2)
            async with machine.host.reserve("codex", 60):
                return machine.clock.slept

    assert asyncio.run(scenario()) == []


def test_two_hundred_agents_share_one_gigabyte() -> None:
    """1 GB free: all 200 start in order, staggered, and the minimum stays free."""

    async def scenario() -> Machine:
        machine = Machine(1024)
        async with asyncio.TaskGroup() as group:
            for number in range(200):
                group.create_task(machine.agent(f"t{number}", 150, 10, grows_after=3, timeout=3600))
        return machine

    machine = asyncio.run(scenario())
    times = [at for at, _ in machine.starts]
    assert [name for _, name in machine.starts] == [f"t{number}" for number in range(200)]
    assert all(later - sooner >= 0.2 - 1e-6 for sooner, later in pairwise(times))
    assert machine.least_mb >= 512
    assert times[-1] < 200 * 13 / 2  # at least two at a time: every agent that waits for memory starts


def test_memory_promised_to_a_start_counts_before_it_is_taken() -> None:
    """The memory for one more agent is given to one only, though it is not used yet."""

    async def scenario() -> list[tuple[float, str]]:
        machine = Machine(512 + 2 * DEFAULT_FOOTPRINT_MB + 10)
        async with asyncio.TaskGroup() as group:
            for name in ("a", "b", "c"):
                group.create_task(machine.agent(name, DEFAULT_FOOTPRINT_MB, 60, grows_after=30, timeout=3600))
        return machine.starts

    starts = asyncio.run(scenario())
    assert [round(at, 1) for at, _ in starts] == [0.0, 0.2, 90.0]


def test_what_an_agent_took_is_expected_of_the_next_of_its_kind() -> None:
    """The highest peak of the run counts, for its own executor only."""

    async def scenario() -> tuple[int, int]:
        machine = Machine(PLENTY)
        for peak in (300, 900, None, 400):
            async with machine.host.reserve("claude", 60) as admission:
                admission.peak_mb = peak
        return machine.host.footprint_mb("claude"), machine.host.footprint_mb("codex")

    assert asyncio.run(scenario()) == (900, DEFAULT_FOOTPRINT_MB)


def test_one_agent_runs_even_where_it_hardly_fits() -> None:
    """With little more than the minimum free, agents run one after the other."""

    async def scenario() -> list[tuple[float, str]]:
        machine = Machine(600)
        async with asyncio.TaskGroup() as group:
            for name in ("a", "b", "c"):
                group.create_task(machine.agent(name, 50, 10, grows_after=0, timeout=3600))
        return machine.starts

    assert [(round(at), name) for at, name in asyncio.run(scenario())] == [(0, "a"), (10, "b"), (20, "c")]


def test_no_memory_at_all_ends_in_a_sentence_with_both_figures() -> None:
    """Below the minimum nothing starts; after the timeout the error has both figures."""

    async def scenario() -> tuple[OstlerError, float]:
        machine = Machine(300)
        with pytest.raises(OstlerError) as caught:
            async with machine.host.reserve("claude", 60):
                pytest.fail("an agent without memory")
        return caught.value, machine.clock.monotonic()

    error, waited = asyncio.run(scenario())
    assert error.code is Code.SPAWN_FAILED
    assert "within 60 s: 300 MB of memory are available, 512 MB must stay free" in error.message
    assert "host.min_free_memory_mb" in error.hint
    assert waited == pytest.approx(60)


def test_memory_that_no_agent_uses_is_not_waited_for_during_the_whole_timeout() -> None:
    """Several starts give up together after host.memory_wait_seconds, and say for how long they waited."""

    async def scenario() -> tuple[str, float, list[str]]:
        machine = Machine(300)
        described = machine.host.describe_wait("claude")
        starts = [asyncio.create_task(machine.agent(name, 10, 1, 0, timeout=3600)) for name in "abc"]
        await asyncio.wait(starts)
        return described, machine.clock.monotonic(), [str(start.exception()) for start in starts]

    described, waited, errors = asyncio.run(scenario())
    assert described.startswith(
        "free memory, up to 60 s: 300 MB of memory are available, 512 MB must stay free"
    )
    assert waited == pytest.approx(60, abs=1)
    assert len(errors) == 3 and all("within 60 s" in error for error in errors)


def test_memory_that_an_agent_uses_is_waited_for() -> None:
    """An agent that runs for long is not a reason to give up: its end frees memory."""

    async def scenario() -> list[tuple[float, str]]:
        machine = Machine(600)
        async with asyncio.TaskGroup() as group:
            for name in ("a", "b"):
                group.create_task(machine.agent(name, 50, 600, grows_after=0, timeout=3600))
        return machine.starts

    assert [(round(at), name) for at, name in asyncio.run(scenario())] == [(0, "a"), (600, "b")]


def test_memory_that_comes_back_lets_the_start_go_on() -> None:
    """Another program ends, and the agent that waited starts soon after."""

    async def scenario() -> float:
        machine = Machine(300)

        async def other_program_ends() -> None:
            await machine.clock.sleep(20)
            machine.free_mb = 2000

        ending = asyncio.create_task(other_program_ends())
        async with machine.host.reserve("claude", 60):
            await ending
            return machine.clock.monotonic()

    assert 20 <= asyncio.run(scenario()) <= 21


def test_a_waiter_that_gives_up_leaves_the_queue() -> None:
    """One start times out and one is cancelled while it waits; the one behind them starts in its turn."""

    async def scenario() -> list[str]:
        machine = Machine(300)
        first = asyncio.create_task(machine.agent("first", 10, 1, 0, timeout=5))
        second = asyncio.create_task(machine.agent("second", 10, 1, 0, timeout=1000))
        third = asyncio.create_task(machine.agent("third", 10, 1, 0, timeout=1000))
        await machine.clock.sleep(10)
        assert isinstance(first.exception(), OstlerError)
        second.cancel()
        await machine.clock.sleep(10)
        machine.free_mb = 2000
        await third
        return [name for _, name in machine.starts]

    assert asyncio.run(scenario()) == ["third"]


@pytest.mark.parametrize("error", [RuntimeError, asyncio.CancelledError])
def test_an_agent_that_ends_badly_leaves_too(error: type[BaseException]) -> None:
    """The reserved memory is free for the next agent, however the first one ended."""

    async def scenario() -> None:
        machine = Machine(600)
        with pytest.raises(error):
            async with machine.host.reserve("claude", 1):
                raise error
        async with machine.host.reserve("claude", 1):
            assert machine.clock.monotonic() < 1

    asyncio.run(scenario())
