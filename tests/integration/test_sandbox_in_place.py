"""A sandbox whose programs can write to the project itself, as without git."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ostler.calls.sandbox.open import SandboxRequest, open_sandbox
from ostler.calls.sandbox.workspace import create_plain_workspace
from ostler.config.settings import SandboxSettings
from ostler.model.command import Command
from ostler.process.runner import DefaultCommandRunner
from ostler.sandbox.network.indexes import find
from private_git_world import needs_bubblewrap

WRITE = "printf '%s\\n' '--find-links {0}' '--extra-index-url http://evil.example/' > requirements.txt"


# The cache of the user is in the project, where the first program finds what Ostler keeps.
FORGE = 'sed -i \'s,"paths":\\[\\],"paths":["{0}"],\' .cache/ostler/package-indexes/*.json'


@needs_bubblewrap
@pytest.mark.parametrize(("script", "cache"), [(WRITE, ""), (FORGE, ".cache")], ids=["file", "kept answer"])
def test_a_program_does_not_widen_the_next_sandbox(script: str, cache: str, tmp_path: Path) -> None:
    """It names a directory of the user as a package index; the next program does not get it."""
    project, home = tmp_path / "project", tmp_path / "home"
    keys = home / ".ssh"
    for place in (project, keys):
        place.mkdir(parents=True)
    (keys / "id").write_text("key")
    workspace = create_plain_workspace(project, tmp_path / "state")
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    tools = {"PATH": "/nowhere", "HOME": str(home)}  # none is installed, which saves a second
    if cache:
        tools["XDG_CACHE_HOME"] = str(project / cache)
    request = SandboxRequest(workspace, SandboxSettings(tier="bubblewrap"), env, host_environ=tools)

    async def run(script: str) -> tuple[int, list[bytes]]:
        find._answers.clear()  # as in another process
        lines: list[bytes] = []
        async with open_sandbox(request) as opened:
            command = Command(("/bin/sh", "-c", script), str(project), opened.env, launcher=opened.launcher)
            ended = await DefaultCommandRunner().run(command, lambda line: lines.append(line) or False)
        return ended.status, lines

    assert asyncio.run(run(script.format(keys))) == (0, [])
    assert any(str(keys) in path.read_text() for path in project.rglob("*.*") if path.is_file())
    assert asyncio.run(run(f"cat {keys}/id || echo none"))[1] == [b"none"]


@needs_bubblewrap
@pytest.mark.full
def test_a_run_without_git_asks_each_tool_once(tmp_path: Path) -> None:
    """The thread that finds the indexes meanwhile asks the question of the first attempt."""
    project, programs, asked = tmp_path / "project", tmp_path / "bin", tmp_path / "asked"
    project.mkdir()
    programs.mkdir()
    (programs / "npm").write_text(f"#!/bin/sh\npwd >> {asked}\necho '{{}}'\n")
    (programs / "npm").chmod(0o755)
    agent = "echo x > a.txt; echo '<phase_complete>true</phase_complete>'"
    (project / "ostler.toml").write_text(
        '[run]\nexecutor = "mine"\n[executors.mine]\ntype = "command"\ncommand = "sh"\n'
        f'args = ["-c", "{agent}"]\n'
    )
    env = {**os.environ, "PATH": f"{programs}:/usr/bin:/bin", "OSTLER_SANDBOX__TIER": "bubblewrap"}
    command = [sys.executable, "-m", "ostler", "run", "-p", "Do it"]
    ended = subprocess.run(
        command, cwd=project, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0 and "in place" in ended.stdout, ended.stdout + ended.stderr
    assert asked.read_text() == "/\n"
