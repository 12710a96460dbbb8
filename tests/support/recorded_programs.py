"""Agents that play recorded runs for a CliExecutor, without starting a program."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ostler.calls.cli_executor import CliExecutor
from ostler.calls.plugins import PluginRegistry
from ostler.calls.request import CallOutcome
from ostler.config.settings import (
    ExecutorSettings,
    HostSettings,
    ModelSettings,
    RetrySettings,
    SandboxSettings,
    Settings,
)
from ostler.model.command import Command, Exit, Sink
from ostler.process.protocol import CommandRunner
from ostler.testing.mocks import MockCommandRunner
from ostler.testing.virtual_clock import VirtualClock

DATA = Path(__file__).parents[1] / "data"
CLAUDE, CODEX = (
    "claude/stream_tool_yolo",
    "codex/exec_text",
)  # the recorded output of the real programs, successful
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
    """Plays the recorded runs of each model; the last one is repeated."""

    def __init__(self, **turns: list[Turn]) -> None:
        super().__init__(run_function=self._play)
        self._turns = turns

    @property
    def models(self) -> list[str]:
        """Return the models that were called, in order."""
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
    return next(NAMES[arg] for arg in command.argv if arg in NAMES)


def settings(directory: Path, **more: Any) -> Settings:
    """Return the settings of three models of two agents, whose programs exist and are not started."""
    programs = {name: directory / name for name in ("claude", "codex")}
    for program in programs.values():
        program.touch(0o755)
    usual: dict[str, Any] = {
        "executors": {name: ExecutorSettings(command=str(path)) for name, path in programs.items()},
        "models": THREE,
        "retry": RetrySettings(jitter=0.0, max_retries=1),
        "host": HostSettings(min_free_memory_mb=0, start_stagger_seconds=0.0),
        "sandbox": SandboxSettings(tier="supervised"),
    }
    return Settings(**{**usual, **more})


@contextmanager
def executor(
    directory: Path, runner: CommandRunner, plugins: PluginRegistry | None = None, **more: Any
) -> Generator[CliExecutor]:
    """Return an executor with its own home directory and virtual time."""
    provided = more.pop("settings", None) or settings(directory)
    more = {"home": directory, "clock": VirtualClock(), "environ": {"HOME": str(directory)}, **more}
    made = CliExecutor(provided, runner, plugins or PluginRegistry(LOGGER), LOGGER, **more)
    try:
        yield made
    finally:
        made.close()


def execute(made: CliExecutor, prompt: str = "Do it.", **more: Any) -> CallOutcome:
    return asyncio.run(made.execute(prompt, cwd="/", **more))


def prompts(made: CliExecutor) -> list[str]:
    """Return the stored prompt of each attempt."""
    return [path.read_text() for path in sorted((made.calls_dir / "prompts").glob("call-*.md"))]
