"""`make cluster-demo` works: 50 tasks on three workers, one of which is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.full
def test_the_demo_completes_all_tasks() -> None:
    """It exits with 0 only if all tasks have completed once, and the remote has all of their commits."""
    done = subprocess.run(
        [sys.executable, "deploy/demo", "--exit"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tests", "TMPDIR": "/tmp"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kill -9 of the worker on" in done.stdout
    assert "completed exactly once              50 of 50" in done.stdout
