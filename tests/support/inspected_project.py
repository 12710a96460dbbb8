"""A project with settings, for the checks before a run."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from ostler.config.load import load_settings
from ostler.executors.registry import ExecutorRegistry
from ostler.project.inspection.setup import Setup


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def setup(root: Path, text: str, environ: Mapping[str, str] = {}) -> Setup:
    write(root, {"ostler.toml": text})
    return Setup(root, load_settings(root, environ), environ, ExecutorRegistry())


def git(root: Path, *args: str) -> None:
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b", *args], cwd=root, check=True)


def make_repository(root: Path) -> Path:
    git(root, "init", "-q", "-b", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root
