"""Helper programs are run to their end, also when Ctrl-C arrives while they start."""

from __future__ import annotations

import signal
from pathlib import Path

from ostler.process.tool import ToolResult, run_tool

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
