"""The real claude with a local model server, for tests that need the program itself."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

from fetch_claude import claude_path
from ostler.config.settings import ExecutorSettings
from ostler.executors.claude.executor import ClaudeExecutor
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.fake_llm import FakeLlm
from real_seat import RealSeat
from world import World

CLAUDE = claude_path()  # read before a test's own HOME is set
MARK = "<phase_complete>true</phase_complete>"


def require_claude() -> str:
    """Return the program's path; a test without it fails with the next step."""
    assert CLAUDE.exists(), f"{CLAUDE} is not there; python tests/support/fetch_claude.py puts it there"
    return str(CLAUDE)


def claude_environment(llm: FakeLlm, place: Path, *, subscription: bool = False) -> dict[str, str]:
    """Return the variables that point claude to the local server and to a new configuration."""
    login = "CLAUDE_CODE_OAUTH_TOKEN" if subscription else "ANTHROPIC_API_KEY"
    return {
        "ANTHROPIC_BASE_URL": llm.url,
        login: "x",
        "CLAUDE_CONFIG_DIR": str(place / "claude-config"),
    }


class Seat(RealSeat):
    """A workspace in which the executor runs the real claude."""

    def __init__(self, place: Path, llm: FakeLlm, *args: str, subscription: bool = False) -> None:
        settings = ExecutorSettings(command=require_claude(), args=args)
        executor = ClaudeExecutor("claude", settings, DefaultCommandRunner())
        env = {"HOME": os.environ["HOME"], **claude_environment(llm, place, subscription=subscription)}
        super().__init__(place, executor, env, seconds=90.0)

    def claude(self) -> psutil.Process:
        return next(process for process in self.processes() if process.exe() == str(CLAUDE.resolve()))


def real_world(place: Path, llm: FakeLlm) -> World:
    """A project whose claude is the real one."""
    world = World(place)
    world.environ |= {"OSTLER_CLAUDE_PATH": require_claude(), **claude_environment(llm, place)}
    return world
