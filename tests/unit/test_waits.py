"""Waits for other processes: printed once, bounded, and over when the step is cancelled."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ostler import waits
from ostler.calls.thread import run_in_thread
from ostler.errors import GitError
from ostler.files.lock_owner import describe_owner, find_owner
from ostler.git.run import lock

HOLDS = """
import fcntl, os, sys, time
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def report_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "REPORT_AFTER_SECONDS", 0.1)


def test_a_wait_is_printed_once_and_again_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is printed before the time; `finish` prints how long it was."""
    wait = waits.Wait(lambda: "waiting for x", 10.0, pause_seconds=0.02)
    wait.finish()
    assert wait.pause() and caplog.messages == []
    while len(caplog.messages) < 1:
        assert wait.pause()
    assert wait.pause() and wait.pause()
    wait.finish()
    assert caplog.messages == ["waiting for x", "the wait is over after 0 s: x"]


def test_a_wait_has_a_limit() -> None:
    """`pause` returns False once, not an error."""
    wait = waits.Wait(lambda: "waiting for x", 0.05, pause_seconds=0.02)
    turns = 0
    while wait.pause():
        turns += 1
    assert 1 <= turns < 10


def test_a_lock_is_waited_for_longer_than_a_minute_and_its_owner_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A checkout of a large repository may take half an hour (R4)."""
    assert lock.WAIT_SECONDS >= 1800
    file = tmp_path / "file"
    file.touch()
    holder = subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout and holder.stdout.readline()
        owner = describe_owner(tmp_path)
        threading.Timer(0.4, holder.kill).start()
        with lock.hold_lock(tmp_path):
            pass
        assert caplog.messages[0] == f"waiting for {tmp_path}: {owner} uses it"
        assert owner == f"another Ostler process (pid {holder.pid})"
        assert find_owner(file) == 0
    finally:
        holder.kill()
        holder.wait()


def test_a_cancelled_step_ends_its_wait_at_once(tmp_path: Path) -> None:
    """Ctrl-C during a wait for a lock needs no second one."""

    def wait_for_lock() -> None:
        with pytest.raises(GitError), lock.hold_lock(tmp_path):
            pass

    async def scene() -> float:
        work = asyncio.create_task(run_in_thread(wait_for_lock))
        await asyncio.sleep(0.05)
        began = time.monotonic()
        work.cancel()
        await asyncio.wait({work})
        return time.monotonic() - began

    with open(tmp_path / "other", "w"), lock.hold_lock(tmp_path):
        assert asyncio.run(scene()) < 1
