"""The process manager of loopwork: a process is stopped however its run ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ostler.compat.process_manager import ManagedRunner
from ostler.model.command import Command, StopReason
from process_manager import MockProcessManager

CLAUDE = "claude/stream_tool_yolo"


class Gone(MockProcessManager):
    """Ends its processes, and reports them as gone."""

    def kill(self, pid: int, signal: str) -> bool:
        super().kill(pid, signal)
        raise ProcessLookupError(3, "No such process")


def command(tmp_path: Path, timeout: float = 60.0) -> Command:
    return Command(argv=("claude",), cwd=str(tmp_path), env={}, timeout_seconds=timeout, grace_seconds=0.05)


def test_an_error_of_the_receiver_stops_the_process(tmp_path: Path) -> None:
    """Such as a full disk: the error is raised after the process was stopped."""
    manager = MockProcessManager(CLAUDE)

    def refuse(line: bytes) -> bool:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        asyncio.run(ManagedRunner(manager).run(command(tmp_path), refuse))
    assert manager.signals == ["SIGTERM"]


def test_a_process_that_has_ended_meanwhile(tmp_path: Path) -> None:
    """A signal that finds no process is no error."""
    manager = Gone("hangs SIGTERM")
    ended = asyncio.run(ManagedRunner(manager).run(command(tmp_path, 0.05), lambda line: False))
    assert (ended.status, ended.stopped) == (-15, StopReason.TIMEOUT)
