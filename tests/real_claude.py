"""The real claude in front of a model server of ours, for tests that want the program itself."""

from __future__ import annotations

import asyncio
import os
import uuid
from pathlib import Path
from typing import Any

import psutil

from fetch_claude import claude_path
from ostler.config.settings import ExecutorSettings
from ostler.executors.claude import ClaudeExecutor
from ostler.model.call import AgentCall, AgentEvent, CallResult
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.fake_llm import FakeLlm
from world import World

CLAUDE = claude_path()  # asked before a test's own HOME is set
MARK = "<phase_complete>true</phase_complete>"


def require_claude() -> str:
    """The program's path; a test without it fails, and says what to do."""
    assert CLAUDE.exists(), f"{CLAUDE} is not there; python tests/fetch_claude.py puts it there"
    return str(CLAUDE)


def claude_environment(llm: FakeLlm, place: Path) -> dict[str, str]:
    """What points claude to our server and to a configuration of its own."""
    return {
        "ANTHROPIC_BASE_URL": llm.url,
        "ANTHROPIC_API_KEY": "x",
        "CLAUDE_CONFIG_DIR": str(place / "claude-config"),
    }


class Seat:
    """A workspace in which the executor runs the real claude."""

    def __init__(self, place: Path, llm: FakeLlm, *args: str) -> None:
        self.workspace = place / "workspace"
        self.workspace.mkdir(parents=True)
        self.transcript = place / "transcript.jsonl"
        self.events: list[AgentEvent] = []
        self.marker = str(uuid.uuid4())
        self._env = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "OSTLER_ATTEMPT": self.marker,
            **claude_environment(llm, place),
        }
        settings = ExecutorSettings(command=require_claude(), args=args)
        self.executor = ClaudeExecutor("claude", settings, DefaultCommandRunner())

    def call(self, prompt: str, session: str = "", **more: Any) -> AgentCall:
        limits: dict[str, Any] = {"timeout_seconds": 90.0, "grace_seconds": 2.0}
        paths = {"cwd": str(self.workspace), "transcript": str(self.transcript)}
        session = session or str(uuid.uuid4())
        return AgentCall("implementer", prompt, session, env=self._env, **paths, **(limits | more))

    def spawn(self, prompt: str = "PROMPT-ONE", session: str = "", **more: Any) -> CallResult:
        call = self.call(prompt, session, **more)
        return asyncio.run(self.executor.spawn(call, self.events.append))

    def resume(self, prompt: str, session: str, **more: Any) -> CallResult:
        call = self.call(prompt, session, **more)
        return asyncio.run(self.executor.resume(call, self.events.append))

    def heard(self, kind: type[AgentEvent]) -> list[AgentEvent]:
        return [event for event in self.events if isinstance(event, kind)]

    def processes(self) -> list[psutil.Process]:
        """Everything alive that claude or one of its tools started, and claude itself."""
        return [process for process in psutil.process_iter() if _marker(process) == self.marker]

    def claude(self) -> psutil.Process:
        return next(process for process in self.processes() if process.exe() == str(CLAUDE.resolve()))


def real_world(place: Path, llm: FakeLlm) -> World:
    """A project whose claude is the real one."""
    world = World(place)
    world.environ |= {"OSTLER_CLAUDE_PATH": require_claude(), **claude_environment(llm, place)}
    return world


def _marker(process: psutil.Process) -> str:
    try:
        return process.environ().get("OSTLER_ATTEMPT", "")
    except (psutil.Error, OSError):
        return ""
