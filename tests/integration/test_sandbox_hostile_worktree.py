"""Files that an agent leaves in its worktree to reach files of the host at its next start."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from gate_world import GateWorld
from ostler.config.settings import Settings
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.engine.steps.workspaces.box_files import create_workspace
from ostler.engine.steps.workspaces.sandboxed_shell import run_in_sandbox
from ostler.engine.steps.workspaces.shell import ShellCommand
from ostler.git.repository import Worktree
from ostler.sandbox.bubblewrap import find_bubblewrap

pytestmark = pytest.mark.skipif(not find_bubblewrap(os.environ), reason="bubblewrap is not installed")
PROJECT = '[project]\nname = "shop"\n'


class Box:
    """The sandbox of a task, opened again and again."""

    def __init__(self, directory: Path) -> None:
        self.world = GateWorld(directory, {"pyproject.toml": PROJECT, "pkg/a.txt": "a\n"})
        settings = self.world.settings(tier="bubblewrap")
        self.settings: Settings = replace(settings, sandbox=replace(settings.sandbox, network="off"))
        self.worktree: Worktree = self.world.worktree(self.settings)
        self.host = directory / "host"  # files of the user, outside of the project

    def write(self, name: str, text: str) -> Path:
        path = self.worktree.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def add_environment(self, target: str) -> Path:
        """Let the agent make an environment that claims to have the project from elsewhere."""
        self.write("venv/pyvenv.cfg", "")
        info = "venv/lib/python3.11/site-packages/shop-1.dist-info"
        url = {"url": f"file://{target}", "dir_info": {"editable": True}}
        return self.write(f"{info}/direct_url.json", json.dumps(url))

    def run(self, command: str) -> str:
        """Return the output of a command as an agent runs it."""
        log = self.world.home / "own.log"

        async def act(services: StepServices, context: TaskContext) -> StepResult | None:
            workspace = create_workspace(self.worktree.path, context, services)
            shell = ShellCommand(command, self.worktree.path, log, 20.0)
            await run_in_sandbox(shell, workspace, context, services)
            return None

        self.world.run(act, self.settings)
        return log.read_text() if log.exists() else ""


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def test_a_false_environment_shows_no_directory_of_the_user(box: Box) -> None:
    """The runtime directory has the sockets of the user's session."""
    runtime = box.host / "user" / "1000"
    runtime.mkdir(parents=True)
    (runtime / "bus").write_text("socket")
    box.world.environ["XDG_RUNTIME_DIR"] = str(runtime)
    box.add_environment(str(box.host))
    output = box.run(f"cat {runtime}/bus; touch {runtime}/planted; echo end")
    assert output.endswith("end\n") and "socket" not in output and not (runtime / "planted").exists()


def test_a_link_of_a_package_shows_no_directory_of_the_user(box: Box) -> None:
    """As with `npm link`: a link outside leads to the user's checkout."""
    victim = box.host / "victim"
    victim.mkdir(parents=True)
    (victim / "key").write_text("secret")
    hop = box.host / "global"
    hop.symlink_to(box.world.root / "pkg")
    (box.worktree.path / "node_modules").mkdir()
    (box.worktree.path / "node_modules" / "x").symlink_to(hop)
    assert "a" in box.run(f"cat {hop}/a.txt")
    (box.worktree.path / "pkg" / "a.txt").unlink()
    (box.worktree.path / "pkg").rmdir()
    (box.worktree.path / "pkg").symlink_to(victim)
    assert "secret" not in box.run(f"cat {hop}/key node_modules/x/key pkg/key")


def test_a_pipe_in_an_environment_does_not_block(box: Box) -> None:
    url = box.add_environment("/nothing")
    url.unlink()
    os.mkfifo(url.with_name("RECORD"))
    assert box.run("echo end") == "end\n"


def test_tools_in_the_project_are_read_only(box: Box) -> None:
    """A person runs the programs there, outside of the sandbox."""
    tools = box.world.root / ".cargo"
    (tools / "bin").mkdir(parents=True)
    (tools / "bin" / "tool").write_text("#!/bin/sh\necho tool\n")
    (tools / "bin" / "tool").chmod(0o755)
    box.world.environ["CARGO_HOME"] = str(tools)
    box.world.environ["PATH"] = f"{tools}/bin:{os.environ['PATH']}"
    output = box.run(f"tool; touch {tools}/bin/planted .cargo/bin/planted")
    assert "tool" in output.splitlines()
    assert not (tools / "bin" / "planted").exists()


def test_a_home_directory_in_the_project_is_private(box: Box) -> None:
    home = box.world.root / ".state" / "home"
    home.mkdir(parents=True)
    (home / "key").write_text("secret")
    box.world.environ["HOME"] = str(home)
    output = box.run("cat ~/key .state/home/key; touch ~/mine .state/home/planted; ls ~; echo end")
    assert "secret" not in output and output.endswith("end\n")
    assert "mine" in output.splitlines()
    assert [one.name for one in home.iterdir()] == ["key"]
