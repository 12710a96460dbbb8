"""A repository whose test fails, an agent that fixes it at its second attempt, and a fake GitHub."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from ostler.testing.fake_github import FakeGitHub
from world import World

ADDRESS = "http://github.localhost/acme/app.git"
BROKEN = "def add(a, b):\n    return a - b\n"
WORSE = "def add(a, b):\n    return a * b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
TEST = """\
import unittest

from calc import add


class AddTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(3, 4), 7)
"""
COMMAND = "python3 -B -m unittest -q"
SETTINGS = f"""\
[gates.commands]
test = "{COMMAND}"

[git]
target = "main"
on_complete = "pr"
"""
TESTER = {"contains": "This phase: test", "files": {}}
FIXES = [TESTER, {"contains": "What went wrong before", "files": {"calc.py": RIGHT}}]


class WorkflowWorld(World):
    """A project with settings for publishing, and an agent that fixes a failing test."""

    def __init__(self, directory: Path, settings: str = SETTINGS, **behaviour: object) -> None:
        self.settings = settings
        usual: dict[str, object] = {"edits": {}, "files": {"calc.py": WORSE}, "when": FIXES}
        super().__init__(directory, **(usual | behaviour))
        del self.environ["OSTLER_PHASES__PLANS__SMALL"]

    def make_repository(self, **files: str) -> None:
        project = {"ostler.toml": self.settings, "calc.py": BROKEN, "test_calc.py": TEST}
        super().make_repository(**project, **files)

    def add_remote(self, github: FakeGitHub, bare: Path) -> None:
        """`origin` is on that GitHub, for git and gh."""
        self.git("init", "-q", "--bare", "-b", "main", str(bare))
        leads = f'[url "{bare}"]\n\tinsteadOf = {ADDRESS}\n'
        Path(self.environ["HOME"], ".gitconfig").write_text(leads)
        self.git("remote", "add", "origin", ADDRESS)
        self.git("push", "-q", "origin", "main")
        self.environ |= github.environment(self.root.parent / "gh")
        self.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{self.environ['PATH']}"

    def received_prompts(self) -> list[str]:
        """Return the prompts that the agents received, in the order of their starts."""
        sessions = [start["session"] for start in self.started()]
        turns = {
            one: iter([line["prompt"] for line in self._session(one) if "prompt" in line]) for one in sessions
        }
        return [prompt for one in sessions if (prompt := next(turns[one], None)) is not None]

    def _session(self, session: str) -> list[dict[str, Any]]:
        path = self.agents / "sessions" / f"{session}.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    def commits(self, task: str) -> list[tuple[str, str]]:
        """Return the commits of a task, oldest first: each with its subject after the name of the task."""
        log = self.git("log", "--reverse", "--format=%H %s", f"main..ostler/{task}").splitlines()
        return [(line.split()[0], line.partition(f"{task}: ")[2]) for line in log]

    def read(self, task: str, path: str = "calc.py") -> str:
        """Return a file of the task's branch."""
        return self.git("show", f"ostler/{task}:{path}")
