"""Agents that start nothing and play recorded runs, for a CliExecutor of one's own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ostler.config.settings import (
    ExecutorSettings,
    HostSettings,
    ModelSettings,
    RetrySettings,
    Settings,
)
from ostler.model.command import Command, Exit, Sink
from ostler.process.protocol import CommandRunner
from ostler.testing.mocks import MockCommandRunner
from ostler.testing.virtual_clock import VirtualClock
from ostler.worker.cli_executor import CliExecutor
from ostler.worker.hooks import PluginRegistry
from ostler.worker.order import Report

DATA = Path(__file__).parent / "data"
CLAUDE, CODEX = "claude/stream_tool_yolo", "codex/exec_text"  # what the real programs printed, done well
LOGGER = logging.getLogger("test")
NAMES = {"m-first": "first", "m-second": "second", "m-third": "third"}
THREE = (
    ModelSettings("first", "claude", "m-first"),
    ModelSettings("second", "codex", "m-second"),
    ModelSettings("third", "claude", "m-third", fallback=True),
)

Turn = str | Exit
"""What one start of a program gives: a recorded run, or nothing but an exit."""


class Programs(MockCommandRunner):
    """Starts nothing: plays the recorded runs of each model, the last one for ever."""

    def __init__(self, **turns: list[Turn]) -> None:
        super().__init__(run_function=self._play)
        self._turns = turns

    @property
    def models(self) -> list[str]:
        """Which models were called, in order."""
        return [_model(command) for command in self.commands]

    async def _play(self, command: Command, sink: Sink) -> Exit:
        turns = self._turns[_model(command)]
        turn = turns.pop(0) if len(turns) > 1 else turns[0]
        if isinstance(turn, Exit):
            return turn
        for line in (DATA / f"{turn}.jsonl").read_bytes().splitlines():
            sink(line)
        return Exit(1 if "/err_" in turn else 0, 5.0)


def _model(command: Command) -> str:
    return next(NAMES[word] for word in command.argv if word in NAMES)


def settings(place: Path, **more: Any) -> Settings:
    """Three models of two agents, whose programs are there and are never started."""
    programs = {name: place / name for name in ("claude", "codex")}
    for program in programs.values():
        program.touch(0o755)
    usual: dict[str, Any] = {
        "executors": {name: ExecutorSettings(command=str(path)) for name, path in programs.items()},
        "models": THREE,
        "retry": RetrySettings(jitter=0.0, max_retries=1),
        "host": HostSettings(min_free_memory_mb=0, start_stagger_seconds=0.0),
    }
    return Settings(**{**usual, **more})


@contextmanager
def executor(
    place: Path, runner: CommandRunner, plugins: PluginRegistry | None = None, **more: Any
) -> Generator[CliExecutor]:
    """One with a home of its own, in virtual time."""
    given = more.pop("settings", None) or settings(place)
    more = {"home": place, "clock": VirtualClock(), "environ": {"HOME": str(place)}, **more}
    made = CliExecutor(given, runner, plugins or PluginRegistry(LOGGER), LOGGER, **more)
    try:
        yield made
    finally:
        made.close()


def execute(made: CliExecutor, prompt: str = "Do it.", **more: Any) -> Report:
    return asyncio.run(made.execute(prompt, cwd="/", **more))


def prompts(made: CliExecutor) -> list[str]:
    """The prompt of each attempt, as it was kept."""
    return [path.read_text() for path in sorted((made.papers / "prompts").glob("call-*.md"))]
