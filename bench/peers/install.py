"""Installs each system into a directory of its own in the user's cache, from PyPI or npm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from peers.systems import System

PATIENCE_SECONDS = 900
PYTHONS = ("python3.14", "python3.13", "python3.12")


def folder(system: System) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "ostler" / "peers" / re.sub(r"\[.*?\]", "", system.packages[0]).replace("==", "-")


def programs(system: System) -> Path:
    """The directory with the commands of a system."""
    if not system.packages:
        return Path(sys.executable).parent
    return folder(system) / ("node_modules/.bin" if system.registry == "npm" else "bin")


def install(system: System) -> str:
    """Install a system if it is missing; return why that was not possible."""
    if not system.packages or (folder(system) / "complete").exists():
        return ""
    shutil.rmtree(folder(system), ignore_errors=True)
    try:
        if system.registry == "npm":
            install_npm(system)
        else:
            install_pypi(system)
    except (subprocess.SubprocessError, OSError) as error:
        shutil.rmtree(folder(system), ignore_errors=True)
        return why(error)
    (folder(system) / "complete").touch()
    return ""


def install_pypi(system: System) -> None:
    python = newest_python()
    call(python, "-m", "venv", folder(system))
    call(programs(system) / "pip", "install", "-q", "--disable-pip-version-check", *system.packages)
    # claude-agent-sdk prefers the real claude in its wheel to the agent on PATH.
    for bundled in folder(system).glob("lib/*/site-packages/claude_agent_sdk/_bundled/claude"):
        bundled.unlink()


def install_npm(system: System) -> None:
    folder(system).mkdir(parents=True)
    named = [package.replace("==", "@") for package in system.packages]
    call("npm", "install", "--no-fund", "--no-audit", "--prefix", folder(system), *named)
    script = folder(system) / "node_modules/bun/install.js"
    if script.exists():  # recent versions of npm do not run it
        call("node", script, cwd=script.parent)


def newest_python() -> str:
    """Some systems need 3.12; OSTLER_PEERS_PYTHON chooses the program."""
    chosen = os.environ.get("OSTLER_PEERS_PYTHON")
    kept = sorted((Path.home() / ".pyenv/versions").glob("3.1[2-9].*/bin/python3"), reverse=True)
    found = (shutil.which(name) for name in PYTHONS)
    return chosen or next(filter(None, [*map(str, kept), *found]), sys.executable)


def call(*argv: str | Path, cwd: Path | None = None) -> None:
    subprocess.run(argv, cwd=cwd, check=True, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


def why(error: Exception) -> str:
    """The last line of an error message that is about the installation."""
    if isinstance(error, subprocess.CalledProcessError):
        lines = [line.strip() for line in error.stderr.splitlines() if "rror" in line and ".log" not in line]
        return lines[-1][:200] if lines else f"exit {error.returncode}"
    return str(error)
