"""The active runs of a project."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ostler.files.layout import Layout
from ostler.project.running.active_runs import create_log, delete_ended_logs, list_active_runs, register_run

CHILD = """
import sys
from pathlib import Path
from ostler.files.layout import Layout
from ostler.project.running.active_runs import register_run
with register_run(Layout(Path(sys.argv[1]))):
    print("there", flush=True)
    sys.stdin.read()
"""


def test_a_run_is_seen_while_it_lasts(tmp_path: Path) -> None:
    """A run has its pid and start time; two in one process are two."""
    layout = Layout(tmp_path)
    assert list_active_runs(layout) == []
    with register_run(layout):
        (run,) = list_active_runs(layout)
        assert run.pid == os.getpid() and run.since.endswith("Z")
        (path,) = layout.runs.iterdir()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with register_run(layout):
            assert len(list_active_runs(layout)) == 2
    assert list_active_runs(layout) == [] and list(layout.runs.iterdir()) == []


def test_a_run_that_was_killed_is_not(tmp_path: Path) -> None:
    """The lock of an ended run is free; the next run deletes its file."""
    layout = Layout(tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with child:
        assert child.stdout is not None and child.stdout.readline() == b"there\n"
        assert [run.pid for run in list_active_runs(layout)] == [child.pid]
        child.kill()
    assert list_active_runs(layout) == [] and len(list(layout.runs.iterdir())) == 1
    with register_run(layout):
        assert [run.pid for run in list_active_runs(layout)] == [os.getpid()]
        assert len(list(layout.runs.iterdir())) == 1


def test_what_cannot_be_written_stops_no_run(tmp_path: Path) -> None:
    """When the directory cannot be created, the run is not visible and continues."""
    layout = Layout(tmp_path)
    layout.state.mkdir()
    layout.runs.write_text("")
    with register_run(layout):
        assert layout.runs.read_text() == "" and list_active_runs(layout) == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "one"}'])
def test_what_is_not_ours_is_left_alone(tmp_path: Path, content: str) -> None:
    """Invalid files are neither listed nor deleted."""
    layout = Layout(tmp_path)
    layout.runs.mkdir(parents=True)
    (layout.runs / "1-x").write_text(content)
    with register_run(layout):
        assert len(list_active_runs(layout)) == 1
    assert (layout.runs / "1-x").exists()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / ".ostler").mkdir()
    return Layout(tmp_path)


def test_a_log_stays_while_its_run_lives(layout: Layout) -> None:
    """The child has inherited the log, and the opener has released it."""
    log = create_log(layout)
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    code = "print('begun', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=log.held.fd) as child:
        log.held.release()
        while not log.path.read_text():
            assert child.poll() is None
        assert delete_ended_logs(layout) == []
        child.communicate(b"\n")
    assert delete_ended_logs(layout) == [log.path] and not log.path.exists()


def test_what_may_be_someone_elses_is_left_alone(layout: Layout) -> None:
    """A new log, a link, a directory and files with other names are kept."""
    log = create_log(layout)
    log.held.release()
    (layout.state / "run-link.log").symlink_to(layout.state / "notes.log")
    (layout.state / "run-folder.log").mkdir()
    (layout.state / "notes.log").write_text("mine")
    before = sorted(os.listdir(layout.state))
    assert delete_ended_logs(layout) == [] and sorted(os.listdir(layout.state)) == before
