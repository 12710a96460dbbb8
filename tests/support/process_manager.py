"""Doubles of the parts that loopwork injects: a process manager that starts nothing, and recorders."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from ostler.calls.hooks import Hook
from ostler.compat import PrePromptEvent, SpawnOptions

DATA = Path(__file__).parents[1] / "data"
_NUMBERS = {"SIGTERM": 15, "SIGKILL": 9}


class FakeProcess:
    """Prints lines and exits, or hangs until it gets a signal that it obeys."""

    def __init__(
        self, pid: int, lines: Sequence[bytes] = (), status: int | None = 0, obeys: str = ""
    ) -> None:
        self.pid, self._lines, self._obeys = pid, lines, obeys
        self._ended = asyncio.Event()
        self._status = status
        if status is not None:
            self._ended.set()

    @property
    def stdout(self) -> AsyncIterator[bytes]:
        return self._print()

    @property
    def stderr(self) -> None:
        return None

    async def wait(self) -> int:
        await self._ended.wait()
        assert self._status is not None
        return self._status

    def receive(self, signal: str) -> None:
        if signal in (self._obeys, "SIGKILL"):
            self._status = -_NUMBERS[signal]
            self._ended.set()

    async def _print(self) -> AsyncIterator[bytes]:
        for line in self._lines:
            yield line + b"\n"
        await self._ended.wait()


class MockProcessManager:
    """Plays one turn per spawn, the last one again and again: a recorded run, or `hangs SIGNAL`."""

    def __init__(self, *turns: str) -> None:
        self._turns = list(turns)
        self.spawned: list[tuple[str, list[str], SpawnOptions]] = []
        self.signals: list[str] = []
        self._processes: dict[int, FakeProcess] = {}

    @property
    def models(self) -> list[str]:
        """Return the value of --model of each start, empty where there is none."""
        return [args[args.index("--model") + 1] if "--model" in args else "" for _, args, _ in self.spawned]

    def spawn(self, command: str, args: Sequence[str], options: SpawnOptions) -> FakeProcess:
        self.spawned.append((command, list(args), options))
        turn = self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]
        process = _play(1000 + len(self.spawned), turn)
        self._processes[process.pid] = process
        return process

    def kill(self, pid: int, signal: str) -> bool:
        self.signals.append(signal)
        self._processes[pid].receive(signal)
        return True


def _play(pid: int, turn: str) -> FakeProcess:
    if turn.startswith("hangs "):
        return FakeProcess(pid, status=None, obeys=turn.removeprefix("hangs "))
    if turn == "missing":
        raise FileNotFoundError(2, "No such file or directory")
    lines = (DATA / f"{turn}.jsonl").read_bytes().splitlines()
    return FakeProcess(pid, lines, 1 if "/err_" in turn else 0)


class Recorded:
    """The other injected parts: a registry of plugins, a logger and a debugger."""

    def __init__(self, *replacements: str | None) -> None:
        self.hooks: list[Hook] = []
        self.lines: list[str] = []
        self.events: list[PrePromptEvent] = []
        self._replacements = list(replacements)

    def notify(self, hook: Hook) -> None:
        self.hooks.append(hook)

    def with_capabilities(self, prompt: str) -> str:
        return f"{prompt}\n\n# Plugin Capabilities\n\nYou may search."

    def debug(self, message: str) -> None:
        self.lines.append(f"debug {message}")

    def info(self, message: str) -> None:
        self.lines.append(f"info {message}")

    def warn(self, message: str) -> None:
        self.lines.append(f"warn {message}")

    def error(self, message: str) -> None:
        self.lines.append(f"error {message}")

    def emit(self, event: PrePromptEvent) -> None:
        self.events.append(event)

    def get_and_clear_modified_prompt(self) -> str | None:
        return self._replacements.pop(0)


class RealManager:
    """A process manager of a few lines, with real processes."""

    async def spawn(self, command: str, args: list[str], options: SpawnOptions) -> Any:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            command, *args, cwd=options.cwd, env=options.env, stdin=pipe, stdout=pipe, stderr=pipe
        )
        assert process.stdin
        process.stdin.write(options.input)
        process.stdin.close()
        return process

    def kill(self, pid: int, signal: str) -> None:
        os.kill(pid, {"SIGTERM": 15, "SIGKILL": 9}[signal])
