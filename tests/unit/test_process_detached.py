"""A program that continues after the process that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ostler.process.detached import DetachedProgram, start_detached
from world import wait_until

BEGINS = """
import os, sys, time
from ostler.process.detached import keep_descriptor_private, report_started
word = int(sys.argv[1])
keep_descriptor_private(word)
print("pid", os.getpid(), "session", os.getsid(0), "input", sys.stdin.read(), flush=True)
report_started(word)
time.sleep(300)
"""
STARTER = """
import os, sys
from ostler.process.detached import start_detached
start_detached([sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(300)"], 1)
"""


def start(tmp_path: Path, program: str) -> tuple[DetachedProgram, str]:
    """Start this Python program, and return its output up to then."""
    log = tmp_path / "log"
    with log.open("wb") as output:
        started = start_detached([sys.executable, "-c", program], output.fileno())
    return started, log.read_text()


def test_it_has_its_own_session_and_reports_its_start(tmp_path: Path) -> None:
    """It has no standard input, its output goes to the file, and the start does not wait."""
    started, printed = start(tmp_path, BEGINS)
    try:
        pid = started.pid
        assert printed == f"pid {pid} session {pid} input \n" and started.status is None
        assert psutil.Process(pid).is_running()
    finally:
        os.kill(started.pid, signal.SIGKILL)
        os.waitpid(started.pid, 0)


@pytest.mark.parametrize(
    ("program", "status"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", -9)]
)
def test_a_program_that_ends_without_output_is_waited_for(tmp_path: Path, program: str, status: int) -> None:
    """The exit status is returned."""
    started, _ = start(tmp_path, program)
    assert started.status == status


def test_one_that_does_not_exist(tmp_path: Path) -> None:
    """The system's error is raised, and no descriptor is left open."""
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    with pytest.raises(FileNotFoundError):
        start_detached([str(tmp_path / "nothing")], 1)
    assert sys.platform != "linux" or len(os.listdir("/proc/self/fd")) <= before


def test_a_starter_that_stops_waiting_ends_it(tmp_path: Path) -> None:
    """Ctrl-C is sent to the starter alone, which forwards it."""
    log = tmp_path / "log"
    with log.open("wb") as output:
        starter = subprocess.Popen([sys.executable, "-c", STARTER], stdout=output, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: log.read_text().endswith("\n"), 30, "it was not started")
        starter.send_signal(signal.SIGINT)
        assert starter.wait(30) != 0
        pid = int(log.read_text())
        wait_until(lambda: not _lives(pid), 30, "it continues")
    finally:
        starter.kill()
        starter.wait()


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
