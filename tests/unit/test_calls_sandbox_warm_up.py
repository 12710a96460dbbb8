"""The questions of the first sandbox are asked once per project."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from ostler.calls.sandbox.warm_up import THREAD, start_warm_up
from ostler.config.settings import SandboxSettings


def test_many_tasks_of_a_run_start_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other settings or another project ask again; a tier without a sandbox asks nothing."""
    started: list[str] = []
    start = threading.Thread.start

    def count(thread: threading.Thread) -> None:
        if thread.name == THREAD:
            started.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", count)
    settings = SandboxSettings(tier="bubblewrap", network="off")
    environ = {"PATH": os.environ["PATH"]}
    for project in (tmp_path / "one", tmp_path / "two"):
        for _ in range(50):
            start_warm_up(settings, dict(environ), project)
    assert len(started) == 2
    start_warm_up(replace(settings, network="on"), environ, tmp_path / "one")
    assert len(started) == 3
    start_warm_up(replace(settings, tier="supervised"), environ, tmp_path / "one")
    assert len(started) == 3
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join(30)
