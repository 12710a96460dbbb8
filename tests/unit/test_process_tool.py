"""Helper programs are run to their end, also when Ctrl-C arrives while they start."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from ostler.process.tool import ToolResult, ToolTimeout, run_tool

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def test_a_program_that_is_interrupted_before_it_starts_is_started_again(tmp_path: Path) -> None:
    """Ctrl-C reaches a child that has not left the terminal's process group yet."""
    script = "[ -e started ] || { touch started; kill -INT $$; }; echo done"
    assert run_tool(["sh", "-c", script], env=ENVIRONMENT, cwd=str(tmp_path)).stdout == b"done\n"


def test_a_program_that_is_interrupted_later_is_not(tmp_path: Path) -> None:
    """Its output shows that it had started: a second start could repeat an effect."""
    script = "echo x >> starts; echo out; kill -INT $$"
    result = run_tool(["sh", "-c", script], env=ENVIRONMENT, cwd=str(tmp_path))
    assert result == ToolResult(-signal.SIGINT, b"out\n", b"")
    assert (tmp_path / "starts").read_text() == "x\n"


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the system cannot report the end of a child")
def test_the_end_of_a_program_is_not_polled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program whose output ends before it does is waited for without a sleep."""
    sleeps: list[float] = []
    monkeypatch.setattr("time.sleep", sleeps.append)
    script = "exec >&- 2>&-; sleep 0.2; exit 3"
    assert run_tool(["sh", "-c", script], env=ENVIRONMENT, cwd=str(tmp_path)).status == 3
    assert sleeps == []


def test_a_program_that_closes_its_output_and_continues_is_killed_at_the_timeout(tmp_path: Path) -> None:
    """The wait for its end is bounded too."""
    with pytest.raises(ToolTimeout):
        run_tool(
            ["sh", "-c", "exec >&- 2>&-; sleep 60"],
            env=ENVIRONMENT,
            cwd=str(tmp_path),
            timeout_seconds=0.3,
        )
