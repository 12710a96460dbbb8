"""The other real agents, from npm, in pinned versions. Run this file as a program to install them all.

They are searched below OSTLER_TEST_AGENTS and otherwise kept in the user's cache directory, about 1.2 GB.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = {
    "codex": "@openai/codex@0.166.0",
    "gemini": "@google/gemini-cli@0.61.0",
    "qwen": "@qwen-code/qwen-code@0.15.10",  # the last one that runs on Node 20
    "opencode": "opencode-ai@1.18.33",
    "copilot": "@github/copilot@1.0.102",
    "claude-agent-acp": "@agentclientprotocol/claude-agent-acp@0.99.0",
    "codex-acp": "@agentclientprotocol/codex-acp@2.6.0",
}


def agents_path() -> Path:
    """Return where the programs are, or will be."""
    if chosen := os.environ.get("OSTLER_TEST_AGENTS"):
        return Path(chosen)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "ostler" / "tests" / "agents"


def agent_path(root: Path, name: str) -> Path:
    """Return the program, installed first if it is missing; one installs at a time."""
    place = root / f"{name}-{PACKAGES[name].rpartition('@')[2]}"
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            _install(PACKAGES[name], place)
    return place / "node_modules" / ".bin" / name


def _install(package: str, place: Path) -> None:
    """npm installs an old version if the newest does not fit Node: the version is part of the name."""
    with tempfile.TemporaryDirectory(dir=place.parent) as unfinished:
        options = ("--prefix", unfinished, "--no-audit", "--no-fund", "--loglevel=error")
        done = subprocess.run(
            ["npm", "install", *options, package], capture_output=True, text=True, timeout=900, check=False
        )
        assert done.returncode == 0, f"{package} cannot be installed: {done.stderr[-500:]}"
        Path(unfinished).rename(place)
        Path(unfinished).mkdir()


if __name__ == "__main__":
    for agent in sys.argv[1:] or PACKAGES:
        print(agent_path(agents_path(), agent))
