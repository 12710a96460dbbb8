"""The programs of examples/ run as they are, without an account and without an agent program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("embed.py", ["task_completed", "completed: ostler/write-hello-txt-", "1 file, 'Done.'"]),
        ("own_executor.py", ["completed: DiffStat(files=1, insertions=1, deletions=0)"]),
        ("review.py", ["Too short. unchanged: It is a greeting.", "completed: ostler/write-hello-txt-"]),
        ("run_pipeline.py", ["approved outputs/news/research/", "['completed'"]),
    ],
)
@pytest.mark.sampled(1)
def test_an_example_runs(name: str, expected: list[str], tmp_path: Path) -> None:
    """It ends with exit code 0 and prints what its docstring states."""
    environ = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for text in expected:
        assert text in done.stdout, done.stdout


def test_every_example_is_run() -> None:
    """A new example must be added to the table above."""
    names = {path.name for path in EXAMPLES.glob("*.py")} - {"sample.py"}
    assert names == {"embed.py", "own_executor.py", "review.py", "run_pipeline.py"}
