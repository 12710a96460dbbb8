"""A worker and a server without work hardly wake up: counted by the kernel, not timed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ostler.cli.terminal.run import show_run
from ostler.cli.terminal.run.show_run import _Pace
from ostler.project.project import Project
from world import World

SETTLED_SECONDS, MEASURED_SECONDS = 6.0, 5.0
MOST_PER_SECOND = 8


def count_switches(pid: int) -> int:
    """Return how often all threads of a process began to wait."""
    found = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        (line,) = (one for one in status.read_text().splitlines() if one.startswith("voluntary"))
        found += int(line.split()[1])
    return found


@pytest.mark.full
@pytest.mark.parametrize("command", [["worker"], ["serve", "--port", "0"]])
def test_an_idle_process_sleeps(world: World, command: list[str]) -> None:
    """Once a second for each of its duties; a process that polls ten times a second is detected."""
    argv = [sys.executable, "-m", "ostler", *command]
    polls = [sys.executable, "-c", "import time\nwhile True: time.sleep(0.1)"]
    counts: list[float] = []
    for one in (argv, polls):
        with subprocess.Popen(
            one, cwd=world.root, env=world.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                time.sleep(SETTLED_SECONDS)
                before = count_switches(process.pid)
                time.sleep(MEASURED_SECONDS)
                counts.append((count_switches(process.pid) - before) / MEASURED_SECONDS)
            finally:
                process.send_signal(signal.SIGINT)
    ours, control = counts
    assert 0 < ours <= MOST_PER_SECOND < control


def test_the_feed_is_read_less_often_while_no_task_runs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change, or a task in progress, brings the short pause back."""
    monkeypatch.setattr(show_run, "_QUIET_SECONDS", 0.0)
    task = world.new()
    with Project.open(world.root, world.environ) as project:
        pace = _Pace(project)
        assert pace.seconds == show_run._BUSY_SECONDS
        pace.note(is_changed=False)
        assert pace.seconds == show_run._IDLE_SECONDS
        pace.note(is_changed=True)
        assert pace.seconds == show_run._BUSY_SECONDS
        row = project.journal.row(task)
        assert row is not None
        monkeypatch.setattr(project.journal.listing, "running", lambda: [row.id])
        pace.note(is_changed=False)
        assert pace.seconds == show_run._BUSY_SECONDS
