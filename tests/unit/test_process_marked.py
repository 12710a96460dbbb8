"""Processes are found by the attempt that they belong to."""

from __future__ import annotations

import os
import subprocess
import sys

from ostler.process.marked import processes_by_marker
from world import wait_until


def test_a_process_and_its_child_carry_the_marker() -> None:
    """Others, and those that have ended, are not listed."""
    marker = f"store:task-{os.getpid()}:1"
    script = "import subprocess, sys; subprocess.run(['cat'])"
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, env={**os.environ, "OSTLER_ATTEMPT": marker}
    )
    try:
        wait_until(lambda: len(processes_by_marker().get(marker, [])) == 2, 30, "they are not found")
        assert child.pid in processes_by_marker()[marker]
    finally:
        child.communicate(timeout=30)
    assert marker not in processes_by_marker()
