"""How many programs the start of an attempt in a sandbox needs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gate_world import GateWorld
from ostler.calls.sandbox.open import SandboxRequest, open_sandbox
from ostler.config.settings import SandboxSettings
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.engine.steps.workspaces.box_files import create_workspace
from ostler.model.command import Command
from ostler.process.runner import DefaultCommandRunner

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
SHOW_NUMBERS = "echo $$; sh -c 'echo $$'"


class Counter:
    """Counts the programs that this process starts apart from agents, which keepers start."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started: list[str] = []
        begin = subprocess.Popen.__init__

        def count(process: Any, argv: list[str], *args: Any, **options: Any) -> None:
            self.started.append(os.path.basename(argv[0]))
            begin(process, argv, *args, **options)

        monkeypatch.setattr(subprocess.Popen, "__init__", count)

    def take(self) -> list[str]:
        taken, self.started = self.started, []
        return taken


def test_programs_of_an_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program prepares the next attempt; inside, bubblewrap is the only other process."""
    world = GateWorld(tmp_path)
    worktree = world.worktree()
    env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    counter = Counter(monkeypatch)
    subprocess.run(["/bin/true"], check=True)
    assert counter.take() == ["true"]  # the counter works

    async def attempt(services: StepServices, context: TaskContext) -> list[bytes]:
        workspace = create_workspace(worktree.cwd, context, services)
        request = SandboxRequest(workspace, SandboxSettings(tier="bubblewrap", network="off"), env)
        lines: list[bytes] = []
        async with open_sandbox(request) as opened:
            argv = ("/bin/sh", "-c", SHOW_NUMBERS)
            command = Command(argv, str(worktree.cwd), opened.env, launcher=opened.launcher)
            await DefaultCommandRunner().run(command, lambda line: lines.append(line) or False)
        return lines

    async def attempts(services: StepServices, context: TaskContext) -> StepResult | None:
        await attempt(services, context)
        counter.take()
        assert await attempt(services, context) == [b"2", b"3"]
        return None

    world.run(attempts)
    assert counter.take() == []
