"""A reader who types the commands of the documents: `ostler` and fake agents are on the path."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from ostler.testing.fake_agent import fake_agent
from world import World

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"^```(?P<language>\w+)(?: (?:file=|title=)\"?(?P<file>[^\s\"]+)\"?)?\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def text_of(document: str) -> str:
    return (ROOT / document).read_text("utf-8")


def blocks(document: str, *languages: str) -> list[re.Match[str]]:
    return [block for block in FENCE.finditer(text_of(document)) if block["language"] in languages]


# A gate of a page runs a review by the fakes.
APPROVES = {
    "contains": '"verdict": "approved" when every criterion is met',
    "structured": {"verdict": "approved", "reason": "fine", "findings": []},
    "text": '{"verdict": "approved", "reason": "fine", "findings": []}',
    "edits": {},
}


class Reader:
    """Types blocks into one project, in order; `world` is the project."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.tools = world.root.parent / "tools"
        self.tools.mkdir()
        self.put("ostler", f'exec "{sys.executable}" -m ostler "$@"')
        self.put("python3", f'exec "{sys.executable}" "$@"')  # the one in which Ostler is installed
        world.environ["PATH"] = f"{self.tools}:{world.environ['PATH']}"

    def put(self, program: str, body: str) -> None:
        """Put one more program on the path."""
        path = self.tools / program
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def add_agents(self, *names: str) -> None:
        """Add fakes of these agents, as if they were installed and logged in."""
        for name in names:
            fake_agent(self.tools, name, ledger=str(self.world.ledger), when=[APPROVES])

    def write(self, block: re.Match[str]) -> None:
        """Write a block that names a file as that file."""
        path = self.world.root / block["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block["body"])

    def type(self, script: str) -> str:
        """Run it as one shell script, in which every command must succeed."""
        done = subprocess.run(
            ["sh", "-euc", script],
            cwd=self.world.root,
            env=self.world.environ,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        printed = done.stdout + done.stderr
        assert done.returncode == 0, f"{script}\n{printed}"
        assert "Traceback" not in printed, printed
        return printed
