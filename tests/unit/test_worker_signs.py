"""What the machine shows of a silent agent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ostler.worker.signs import cpu_seconds_below, sample_signs, writes_in

SPEND = "import time\nwhile time.process_time() < 0.3: pass\n"


def test_the_time_of_children_that_ended_counts() -> None:
    """A test run that has come and gone below the agent was work."""
    before = cpu_seconds_below(os.getpid())
    subprocess.run([sys.executable, "-S", "-c", SPEND], check=True)
    assert cpu_seconds_below(os.getpid()) - before >= 0.25


def test_the_time_of_a_grandchild_that_runs_counts() -> None:
    """Work is seen wherever in the tree it is done, while it is done."""
    inner = SPEND + "print(1, flush=True)\ntime.sleep(60)"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {inner!r}])"
    argv = [sys.executable, "-S", "-c", script]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert child.stdout
        child.stdout.readline()
        assert cpu_seconds_below(child.pid) >= 0.25
    finally:
        os.killpg(child.pid, 9)
        child.communicate()


def test_a_process_that_is_gone_has_no_time() -> None:
    """Nothing is raised for one that ended before it was looked at."""
    child = subprocess.Popen(["true"])
    child.wait()
    assert cpu_seconds_below(child.pid) == 0.0


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
    """A file written in place, and a directory in which something came or went, change the number."""
    before = writes_in(str(workspace))
    assert writes_in(str(workspace)) == before
    touch_later(workspace / path)
    assert writes_in(str(workspace)) != before


@pytest.mark.parametrize("path", [".git/index", "node_modules/x/y.js", ".ostler/ostler.db"])
def test_what_is_not_the_agents_work_is_not_looked_at(workspace: Path, path: str) -> None:
    """Git's, the package manager's and our own files say nothing of the agent."""
    before = writes_in(str(workspace))
    touch_later(workspace / path)
    assert writes_in(str(workspace)) == before


def test_the_walk_is_bounded(workspace: Path) -> None:
    """Only the first entries are looked at, and the same ones each time; without time there is no number."""
    for number in range(600):
        (workspace / "src" / f"{number}").touch()
    assert writes_in(str(workspace), most=3) == writes_in(str(workspace), most=3) != 0
    assert writes_in(str(workspace), seconds=-1.0) == 0


def test_a_loop_of_links_and_a_missing_place_do_no_harm(tmp_path: Path) -> None:
    """Links are not followed, and a workspace that is gone is an empty one."""
    (tmp_path / "loop").symlink_to(tmp_path)
    assert sample_signs(os.getpid(), str(tmp_path)).writes
    assert sample_signs(os.getpid(), str(tmp_path / "gone")).writes == writes_in(str(tmp_path / "gone"))
