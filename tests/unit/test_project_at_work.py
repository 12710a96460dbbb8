"""Which runs are at work, as far as the kernel knows."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ostler.files.layout import Layout
from ostler.project.at_work import at_work, runs_at_work

CHILD = """
import sys
from pathlib import Path
from ostler.files.layout import Layout
from ostler.project.at_work import at_work
with at_work(Layout(Path(sys.argv[1]))):
    print("there", flush=True)
    sys.stdin.read()
"""


def test_a_run_is_seen_while_it_lasts(tmp_path: Path) -> None:
    """By its process and when it came; two in one process are two."""
    layout = Layout(tmp_path)
    assert runs_at_work(layout) == []
    with at_work(layout):
        (run,) = runs_at_work(layout)
        assert run.pid == os.getpid() and run.since.endswith("Z")
        (path,) = layout.runs.iterdir()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with at_work(layout):
            assert len(runs_at_work(layout)) == 2
    assert runs_at_work(layout) == [] and list(layout.runs.iterdir()) == []


def test_a_run_that_was_killed_is_not(tmp_path: Path) -> None:
    """The kernel gave its lock back; the next run takes its file away."""
    layout = Layout(tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with child:
        assert child.stdout is not None and child.stdout.readline() == b"there\n"
        assert [run.pid for run in runs_at_work(layout)] == [child.pid]
        child.kill()
    assert runs_at_work(layout) == [] and len(list(layout.runs.iterdir())) == 1
    with at_work(layout):
        assert [run.pid for run in runs_at_work(layout)] == [os.getpid()]
        assert len(list(layout.runs.iterdir())) == 1


def test_what_cannot_be_written_stops_no_run(tmp_path: Path) -> None:
    """A file stands where the directory should be: the run is not seen, and goes on."""
    layout = Layout(tmp_path)
    layout.state.mkdir()
    layout.runs.write_text("")
    with at_work(layout):
        assert layout.runs.read_text() == "" and runs_at_work(layout) == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "one"}'])
def test_what_is_not_ours_is_left_alone(tmp_path: Path, content: str) -> None:
    """Half a file, or anything else there, is neither shown nor removed."""
    layout = Layout(tmp_path)
    layout.runs.mkdir(parents=True)
    (layout.runs / "1-x").write_text(content)
    with at_work(layout):
        assert len(runs_at_work(layout)) == 1
    assert (layout.runs / "1-x").exists()
