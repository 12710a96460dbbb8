"""The memory of a process, measured in more than one way."""

from __future__ import annotations

import os
import sys

import pytest

from ostler.process import memory

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@LINUX
def test_the_quick_figure_is_never_below_the_exact_one() -> None:
    """Both include the allocated memory, and the quick one may only be too high."""
    hoard = b"x" * (30 << 20)
    quick, exact = memory.estimate_memory_kb([os.getpid()]), memory.measure_memory_kb([os.getpid()])
    assert len(hoard) // 1024 < exact <= quick + 1024


def test_both_ways_to_ask_agree() -> None:
    """The value of psutil, used without /proc, is of the same size."""
    hoard = b"x" * (30 << 20)
    reported = memory._read_kb_by_psutil(os.getpid())
    assert len(hoard) // 1024 < reported < memory.measure_memory_kb([os.getpid()]) + 100 * 1024


def test_an_ended_process_takes_no_memory() -> None:
    """An ended process counts as zero with both methods."""
    gone = [2**22 + 1]
    assert (
        memory.estimate_memory_kb(gone),
        memory.measure_memory_kb(gone),
        memory._read_kb_by_psutil(gone[0]),
    ) == (0, 0, 0)
    assert memory.list_descendants(gone[0]) == memory._list_descendants_by_psutil(gone[0]) == []


@LINUX
def test_a_process_that_hides_its_memory_is_counted_roughly(monkeypatch: pytest.MonkeyPatch) -> None:
    """On an older kernel, or without permission for the exact numbers, the quick one counts."""
    read = memory._read
    monkeypatch.setattr(memory, "_read", lambda pid, name: b"" if name == "smaps_rollup" else read(pid, name))
    assert memory.measure_memory_kb([os.getpid()]) > 1024


def test_swapped_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Swapped and shared memory count; mapped files do not."""
    status = b"VmRSS:\t 900 kB\nRssAnon:\t 100 kB\nRssFile:\t 700 kB\nRssShmem:\t 20 kB\nVmSwap:\t 3 kB\n"
    rollup = (
        b"Pss: 900 kB\nPss_Dirty: 9 kB\nPss_Anon: 50 kB\nPss_File: 800 kB\nPss_Shmem: 7 kB\nSwapPss: 1 kB\n"
    )
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(memory, "_read", lambda _, name: status if name == "status" else rollup)
    assert (memory.estimate_memory_kb([1, 2]), memory.measure_memory_kb([1, 2])) == (246, 116)
