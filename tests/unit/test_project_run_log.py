"""The logs of detached runs are kept for as long as someone can still write to them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ostler.files.layout import Layout
from ostler.project.run_log import drop_logs, open_log


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / ".ostler").mkdir()
    return Layout(tmp_path)


def test_a_log_stays_while_its_run_lives(layout: Layout) -> None:
    """The child has it for its output, and whoever opened it has let go."""
    log = open_log(layout)
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    code = "print('begun', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=log.held.fd) as child:
        log.held.release()
        while not log.path.read_text():
            assert child.poll() is None
        assert drop_logs(layout) == []
        child.communicate(b"\n")
    assert drop_logs(layout) == [log.path] and not log.path.exists()


def test_what_may_be_someone_elses_is_left_alone(layout: Layout) -> None:
    """One that is about to begin, a link, a directory, and files of other names."""
    log = open_log(layout)
    log.held.release()
    (layout.state / "run-link.log").symlink_to(layout.state / "notes.log")
    (layout.state / "run-folder.log").mkdir()
    (layout.state / "notes.log").write_text("mine")
    before = sorted(os.listdir(layout.state))
    assert drop_logs(layout) == [] and sorted(os.listdir(layout.state)) == before
