"""How often the disk use of a task is measured."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from ostler.git.worktree.trash import erase
from ostler.sandbox.limits import disk
from ostler.sandbox.limits.disk import DiskWatch

MB = 2**20


class Machine:
    """A clock, a file system and measurements of a fixed duration."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, takes: float) -> None:
        self.now, self.free, self.takes, self.used, self.measured = 1000.0, 10_000 * MB, takes, 0, 0
        monkeypatch.setattr(disk.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(disk.asyncio, "sleep", self.sleep)
        monkeypatch.setattr(disk.asyncio, "to_thread", self.measure)
        monkeypatch.setattr(disk, "_read_free_bytes", lambda directory: self.free)
        self.writes_per_second, self.until = 0, self.now + 300

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.free -= int(self.writes_per_second * seconds)
        self.used += int(self.writes_per_second * seconds)
        if self.now > self.until:
            raise asyncio.CancelledError

    async def measure(self, function: object, directories: object) -> disk.DiskUse:
        self.now += self.takes
        self.measured += 1
        return disk.DiskUse(self.used, {"/w/target": self.used})

    def run(self, limit_mb: int) -> disk.StopNow | None:
        try:
            return asyncio.run(DiskWatch((Path("/w"),), limit_mb).wait_for_excess())
        except asyncio.CancelledError:
            return None


@pytest.mark.parametrize(("takes", "most"), [(0.01, 21), (0.35, 18), (5.0, 2)])
def test_a_quiet_program_is_measured_rarely(takes: float, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 2 percent of the time is used, also for a million files; every 15 s for small directories."""
    machine = Machine(monkeypatch, takes)
    assert machine.run(1000) is None
    assert 1 < machine.measured <= most


def test_a_program_that_writes_fast_is_stopped_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """500 MB per second with a limit of 2000 MB: the loss of free space leads to a measurement in time."""
    machine = Machine(monkeypatch, 0.3)
    machine.writes_per_second = 500 * MB
    stopped = machine.run(2000)
    assert stopped is not None
    assert machine.used < 6000 * MB
    assert "sandbox.max_disk_mb is 2000; largest: /w/target" in stopped.reason


def test_other_programs_that_write_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """The free space shrinks by the writes of others: a tenth of the time is used at most."""
    machine = Machine(monkeypatch, 1.0)
    machine.writes_per_second = 500 * MB
    monkeypatch.setattr(disk, "measure_disk_use", None)
    machine.used = -(10**15)
    assert machine.run(1) is None
    assert machine.measured <= 31


def test_files_below_a_path_that_is_too_long_are_noticed(tmp_path: Path) -> None:
    """An agent makes one with relative paths; the measurement has whole paths."""
    top, name = tmp_path / "top", "d" * 250
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(20):
        os.mkdir(name, dir_fd=here)
        here, before = os.open(name, os.O_RDONLY, dir_fd=here), here
        os.close(before)
    os.close(here)
    ended = asyncio.run(DiskWatch((top,), 1000, poll_seconds=0.01).wait_for_excess())
    assert "cannot be measured" in ended.reason and len(ended.reason) < 300
    erase(top, tmp_path)  # pytest cannot remove it
