"""The wait for space on a full disk."""

from __future__ import annotations

import asyncio

import pytest

from ostler.errors import Code, OstlerError
from ostler.files.full_disk import repeat_while_full


class Disk:
    """Fails so many times, and counts the seconds that were waited."""

    def __init__(self, failures: int, code: Code = Code.DISK_FULL) -> None:
        self.failures, self.code, self.delays = failures, code, list[float]()

    async def write(self) -> str:
        if len(self.delays) < self.failures:
            raise OstlerError(self.code, "no space left to write x")
        return "written"

    async def sleep(self, seconds: float) -> None:
        self.delays.append(seconds)


def test_the_write_is_repeated_when_there_is_space(caplog: pytest.LogCaptureFixture) -> None:
    """The delay grows; the reason and the end of the wait are printed once."""
    disk = Disk(8)
    assert asyncio.run(repeat_while_full(disk.write, disk.sleep)) == "written"
    assert disk.delays == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["waiting for free space: no space left to write x", "the wait for free space is over"]


@pytest.mark.parametrize(("code", "waits"), [(Code.DISK_FULL, 2), (Code.STORAGE_ERROR, 0)])
def test_the_wait_is_bounded(code: Code, waits: int) -> None:
    """Another error is raised at once."""
    disk = Disk(10**6, code)
    with pytest.raises(OstlerError, match="no space left"):
        asyncio.run(repeat_while_full(disk.write, disk.sleep, limit_seconds=1.2))
    assert len(disk.delays) == waits
