"""The effect of a project's tool rules, and of a settings file that an agent wrote, on the real claude (C23,
S5).

Measured on 2.1.325, in --print: claude itself obeys deny, hooks and defaultMode of .claude/settings.json, and
`allow` of settings.local.json; `allow` of settings.json only where the person has trusted the project or a
directory above it. So a rule needs Ostler's flag, and a file that an agent left in its worktree must be
excluded.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings
from ostler.executors.claude.executor import ClaudeExecutor
from ostler.model.call import Permissions, ToolDenied
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.fake_llm import FakeLlm, call, say
from real_claude import Seat, require_claude

pytestmark = pytest.mark.full

TOUCH = call("Bash", command="touch made.txt && chmod 600 made.txt")
WRITE = call("Write", file_path="made.txt", content="x")
ALLOW = {"permissions": {"allow": ["Bash(touch *)", "Bash(chmod 600, 700 *)", "Bash(chmod *)"]}}
HOOK = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch hooked.txt"}]}]}}


class Project:
    """A checkout with a worktree, in which claude is asked to use one tool."""

    def __init__(self, directory: Path) -> None:
        self._place = directory
        self.root = directory / "workspace"
        self.worktree = self.root / ".ostler" / "worktrees" / "task-1"

    def run(
        self, turn: Any, files: dict[str, object], permissions: Permissions = "ask", *, trusted: bool = False
    ) -> Seat:
        with FakeLlm([turn, say("Done.")]) as llm:
            seat = Seat(self._place, llm)
            self._write(files, trusted)
            settings = ExecutorSettings(command=require_claude(), permissions=permissions)
            executor = ClaudeExecutor("claude", settings, DefaultCommandRunner())
            requested = seat.call("PROMPT")
            env = {**requested.env, "OSTLER_PROJECT": str(self.root)}
            requested = replace(requested, cwd=str(self.worktree), env=env)
            result = asyncio.run(executor.spawn(requested, seat.events.append))
            assert result.ok, result.message
            return seat

    def _write(self, files: dict[str, object], trusted: bool) -> None:
        self.worktree.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)  # claude trusts a repository
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(content))
        config = self._place / "claude-config"
        config.mkdir()
        trust = {"projects": {str(self.root): {"hasTrustDialogAccepted": trusted}}}
        (config / ".claude.json").write_text(json.dumps(trust))

    def made(self, name: str = "made.txt") -> bool:
        return (self.worktree / name).exists()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project whose directory does not exist yet."""
    return Project(tmp_path)


WORKTREE = ".ostler/worktrees/task-1/.claude"


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_what_the_project_allows_is_allowed_in_a_worktree(project: Project, name: str) -> None:
    """Rules with spaces and commas are passed completely to claude in a worktree without settings."""
    project.run(TOUCH, {f".claude/{name}": ALLOW})
    assert project.made()


@pytest.mark.smoke
def test_what_the_project_denies_is_denied_in_a_worktree(project: Project) -> None:
    """A denied tool is not available, whatever the permissions."""
    project.run(WRITE, {".claude/settings.json": {"permissions": {"deny": ["Write"]}}}, "accept-edits")
    assert not project.made()


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize("trusted", [True, False])
def test_agent_cannot_allow_itself_a_tool(project: Project, name: str, trusted: bool) -> None:
    """A settings file that an agent wrote in the worktree has no effect, even in a trusted project."""
    seat = project.run(TOUCH, {f"{WORKTREE}/{name}": {"permissions": {"allow": ["Bash"]}}}, trusted=trusted)
    assert not project.made()
    assert [event.tool for event in seat.events if isinstance(event, ToolDenied)] == ["Bash"]


def test_agent_cannot_leave_a_hook(project: Project) -> None:
    """A hook that an agent wrote to settings.json does not run at the next start."""
    project.run(WRITE, {f"{WORKTREE}/settings.json": HOOK}, "accept-edits")
    assert (project.made(), project.made("hooked.txt")) == (True, False)


def test_hook_of_the_project_itself_is_used_as_usual(project: Project) -> None:
    """A file that is the same in the checkout and the worktree is used by claude as usual."""
    files: dict[str, object] = {f"{WORKTREE}/settings.json": HOOK, ".claude/settings.json": HOOK}
    project.run(WRITE, files, "accept-edits")
    assert project.made("hooked.txt")
