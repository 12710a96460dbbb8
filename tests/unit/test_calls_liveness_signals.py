"""The activity of a silent agent, as the machine shows it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ostler.calls.attempts.liveness_signals import hash_writes, measure_cpu_seconds, sample_activity

SPEND = "import time\nwhile time.process_time() < 0.3: pass\n"


def test_the_time_of_children_that_ended_counts() -> None:
    """A test run that started and ended below the agent counts."""
    before = measure_cpu_seconds(os.getpid())
    subprocess.run([sys.executable, "-S", "-c", SPEND], check=True)
    assert measure_cpu_seconds(os.getpid()) - before >= 0.25


def test_the_time_of_a_grandchild_that_runs_counts() -> None:
    """CPU time is measured wherever in the tree it is used."""
    inner = SPEND + "print(1, flush=True)\ntime.sleep(60)"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {inner!r}])"
    argv = [sys.executable, "-S", "-c", script]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert child.stdout
        child.stdout.readline()
        assert measure_cpu_seconds(child.pid) >= 0.25
    finally:
        os.killpg(child.pid, 9)
        child.communicate()


def test_a_process_that_is_gone_has_no_time() -> None:
    """A process that ended before raises no error."""
    child = subprocess.Popen(["true"])
    child.wait()
    assert measure_cpu_seconds(child.pid) == 0.0


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for path in ("src/deep/a.py", "b.txt", ".git/index", "node_modules/x/y.js", ".ostler/ostler.db"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    return tmp_path


def touch_later(path: Path) -> None:
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 1))


@pytest.mark.parametrize("path", ["src/deep/a.py", "b.txt", "src"])
def test_a_write_is_seen(workspace: Path, path: str) -> None:
    """A file written in place, and a directory with a new or deleted file, change the number."""
    before = hash_writes(str(workspace))
    assert hash_writes(str(workspace)) == before
    touch_later(workspace / path)
    assert hash_writes(str(workspace)) != before


@pytest.mark.parametrize("path", [".git/index", "node_modules/x/y.js", ".ostler/ostler.db"])
def test_what_is_not_the_agents_work_is_not_looked_at(workspace: Path, path: str) -> None:
    """Files of git, of package managers and of Ostler are ignored."""
    before = hash_writes(str(workspace))
    touch_later(workspace / path)
    assert hash_writes(str(workspace)) == before


def test_the_walk_is_bounded(workspace: Path) -> None:
    """Only the first entries are read, always the same ones; without time there is no number."""
    for number in range(600):
        (workspace / "src" / f"{number}").touch()
    assert hash_writes(str(workspace), max_entries=3) == hash_writes(str(workspace), max_entries=3) != 0
    assert hash_writes(str(workspace), max_seconds=-1.0) == 0


def test_a_loop_of_links_and_a_missing_place_do_no_harm(tmp_path: Path) -> None:
    """Links are not followed, and a missing workspace is an empty one."""
    (tmp_path / "loop").symlink_to(tmp_path)
    assert sample_activity(os.getpid(), str(tmp_path)).writes
    assert sample_activity(os.getpid(), str(tmp_path / "gone")).writes == hash_writes(str(tmp_path / "gone"))
