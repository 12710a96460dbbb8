"""The id of a boot, where the kernel has none in /proc."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from ostler.files import boot
from ostler.files.boot import read_boot_id


def test_the_kernel_names_the_boot() -> None:
    assert read_boot_id() == boot._FILE.read_text() != ""


def test_without_an_id_each_boot_has_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS: files of an earlier boot, which were not flushed, are not used."""
    monkeypatch.setattr(boot, "_FILE", tmp_path / "none")
    found: list[str] = []
    for time in (1000.0, 1000.0, 2000.0):
        monkeypatch.setattr(psutil, "boot_time", lambda time=time: time)
        found.append(read_boot_id())
    assert found[0] == found[1] != found[2] and all(found)


def test_without_a_time_no_other_process_has_the_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine may have been restarted between two processes."""

    def fail() -> float:
        raise RuntimeError("line 'btime' not found in /proc/stat")

    monkeypatch.setattr(boot, "_FILE", tmp_path / "none")
    monkeypatch.setattr(psutil, "boot_time", fail)
    ours = read_boot_id()
    assert ours == read_boot_id() != ""
    boot._make_process_id.cache_clear()  # as in another process
    assert read_boot_id() != ours
