"""The process manager of loopwork: a process is stopped however its run ends."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from loopwork_executor import execute, injected
from ostler.compat import SpawnOptions, process_manager
from ostler.compat.process_manager import ManagedRunner
from ostler.errors import Code, OstlerError
from ostler.model.command import Command, Exit, StopReason
from ostler.process.child import KILL_NOW
from process_manager import FakeProcess, MockProcessManager, RealManager

CLAUDE = "claude/stream_tool_yolo"


class Gone(MockProcessManager):
    """Ends its processes, and reports them as gone."""

    def kill(self, pid: int, signal: str) -> bool:
        super().kill(pid, signal)
        raise ProcessLookupError(3, "No such process")


class Starts(MockProcessManager):
    """Returns or raises something else than a process."""

    def __init__(self, made: object) -> None:
        super().__init__("hangs SIGTERM")
        self._made = made

    def spawn(self, command: str, args: Sequence[str], options: SpawnOptions) -> Any:
        if isinstance(self._made, Exception):
            raise self._made
        return self._made


def command(tmp_path: Path, timeout: float = 60.0, grace: float = 0.05) -> Command:
    argv = ("claude",)
    return Command(argv=argv, cwd=str(tmp_path), env={}, timeout_seconds=timeout, grace_seconds=grace)


def python(tmp_path: Path, program: str) -> tuple[Exit, list[bytes]]:
    """Run a program with a process manager that starts real processes."""
    lines: list[bytes] = []
    made = Command(argv=(sys.executable, "-c", program), cwd=str(tmp_path), env={}, timeout_seconds=30.0)
    return asyncio.run(ManagedRunner(RealManager()).run(made, lambda line: bool(lines.append(line)))), lines


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


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (RuntimeError("no slot"), "claude could not be started: RuntimeError: no slot"),
        (None, "spawn returned None instead of a process"),
        (7, "spawn returned 7 instead of a process"),
    ],
)
def test_an_error_of_the_manager_is_in_the_outcome(tmp_path: Path, made: object, reason: str) -> None:
    """`execute` does not raise the errors of foreign code."""
    with injected(Starts(made), tmp_path) as executor:
        result = execute(executor)
    assert result.code is Code.MODELS_EXHAUSTED and reason in result.message


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"stdout": ["text"], "status": -15}, "the output of the program could not be read"),
        ({"status": None}, "wait returned None instead of an exit code"),
        ({"status": OSError("gone")}, "the exit of the program is not known: gone"),
    ],
)
def test_a_process_that_is_none(tmp_path: Path, parts: dict[str, Any], reason: str) -> None:
    """Its errors are a failed start, too; it is stopped."""

    async def read() -> Any:
        for part in parts.get("stdout", ()):
            yield part

    async def wait() -> Any:
        while "stdout" in parts and not manager.signals:
            await asyncio.sleep(0.01)
        if isinstance(parts["status"], Exception):
            raise parts["status"]
        return parts["status"]

    manager = Starts(SimpleNamespace(pid=1, stdout=read(), stderr=None, wait=wait))
    manager.kill = lambda pid, signal: manager.signals.append(signal)  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(OstlerError, match=reason) as caught:
        asyncio.run(ManagedRunner(manager).run(command(tmp_path), lambda line: False))
    assert caught.value.code is Code.SPAWN_FAILED and manager.signals[0] == "SIGTERM"


def test_a_line_longer_than_the_buffer_of_a_stream(tmp_path: Path) -> None:
    """A message of an agent has up to 16 MiB; the iterator of a StreamReader stops at 64 KiB."""
    ended, lines = python(tmp_path, "print('x' * 200_000); print('y')")
    assert (ended.status, [len(line) for line in lines]) == (0, [200_000, 1])


def test_a_process_that_is_left_behind_does_not_delay_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the output open; the program has exited with 0, which is no timeout."""
    monkeypatch.setattr(process_manager, "DRAIN_SECONDS", 0.05)

    class Open(FakeProcess):
        @property
        def stdout(self) -> Any:
            return self._open()

        async def _open(self) -> Any:
            yield b"done\n"
            await asyncio.sleep(60)

    lines: list[bytes] = []
    made = ManagedRunner(Starts(Open(1))).run(command(tmp_path), lambda line: bool(lines.append(line)))
    ended = asyncio.run(asyncio.wait_for(made, 10))
    assert (ended.status, ended.stopped, lines) == (0, None, [b"done"])


@pytest.mark.parametrize("messages", [(KILL_NOW,), (None, None)])
def test_a_cancellation_without_a_grace_period(tmp_path: Path, messages: tuple[str | None, ...]) -> None:
    """`kill(id, now=True)`, and a second cancellation: SIGKILL at once, and the run waits for the end."""
    manager = MockProcessManager("hangs SIGKILL")

    async def cancel() -> None:
        runner = ManagedRunner(manager).run(command(tmp_path, grace=60.0), lambda line: False)
        running = asyncio.create_task(runner)
        for message in messages:
            await asyncio.sleep(0.02)
            running.cancel(message)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(running, 5)

    asyncio.run(cancel())
    assert manager.signals[-1] == "SIGKILL"


def test_output_after_the_timeout(tmp_path: Path) -> None:
    """A result that the program prints while it is stopped counts, and the next lines are read."""
    lines: list[bytes] = []

    class Late(FakeProcess):
        def __init__(self) -> None:
            super().__init__(1, status=None, obeys="SIGKILL")

        @property
        def stdout(self) -> Any:
            return self._late()

        async def _late(self) -> Any:
            await asyncio.sleep(0.05)
            yield b"result\nmore\n"
            await self._ended.wait()

    process = Late()
    manager = Starts(process)
    manager.kill = lambda pid, signal: process.receive(signal)  # pyright: ignore[reportAttributeAccessIssue]
    made = command(tmp_path, timeout=0.02, grace=0.2)
    ended = asyncio.run(ManagedRunner(manager).run(made, lambda line: lines.append(line) is None))
    assert (lines, ended.stopped) == ([b"result", b"more"], StopReason.TIMEOUT)
