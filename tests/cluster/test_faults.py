"""Whatever fails in a cluster, no task is lost, done twice or published twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.faults import FAULTS
from cluster.namespaces import find_obstacle

SECONDS = 1200  # for the longest one, with 200 tasks
TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module", autouse=True)
def _can_make_a_cluster() -> None:
    """A machine without namespaces is reported as such."""
    assert not (obstacle := find_obstacle()), obstacle


@pytest.mark.full
@pytest.mark.timeout(SECONDS + 10)
@pytest.mark.parametrize("name", FAULTS)
def test_nothing_is_lost_or_done_twice(name: str) -> None:
    """A cluster of its own for each fault; the oracle looks at what its tasks have become."""
    run_fault(name)


def run_fault(name: str) -> None:
    """Run a fault on a cluster of its own; a failure shows what the oracle found."""
    done = subprocess.run(
        [sys.executable, "-m", "cluster", name],
        cwd=TESTS,
        env={**os.environ, "TMPDIR": "/tmp"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    print(done.stdout)
