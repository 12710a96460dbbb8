"""Finds the command that runs a project's tests, for the settings that `ostler init` writes."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

_MAX_BYTES = 1 << 20
_MAKE_TARGET = re.compile(r"^test\s*:(?!=)", re.MULTILINE)
_PYTEST = "pytest -q"
_ENVIRONMENTS = (".venv", "venv")
_NO_TEST = "no test specified"  # the script of `npm init`


class DetectedCommand(Struct, frozen=True):
    """A command, and the file that it was found in."""

    command: str
    found_in: str
    link: str = ""  # an untracked directory that a worktree needs for it


def detect_test_command(root: Path) -> DetectedCommand | None:
    """Return the test command of the project in this directory, or None; starts nothing."""
    for file, find in _FINDERS.items():
        text = _read(root / file)
        if text is not None and (command := find(root, text)):
            return _use_own_environment(root, DetectedCommand(command, file))
    return None


def _use_own_environment(root: Path, found: DetectedCommand) -> DetectedCommand:
    """Return the command of the project's own virtual environment, unless that is active."""
    if found.command != _PYTEST:
        return found
    for name in _ENVIRONMENTS:
        program = f"{name}/bin/pytest"
        if (root / program).is_file() and shutil.which("pytest") != str(root / program):
            return DetectedCommand(f"{name}/bin/{_PYTEST}", found.found_in, link=name)
    return found


def _find_pytest(root: Path, text: str) -> str:
    if not _uses_pytest(root, text):
        return ""
    runner = {"uv.lock": "uv run ", "poetry.lock": "poetry run ", "pdm.lock": "pdm run "}
    return next((start for lock, start in runner.items() if (root / lock).is_file()), "") + _PYTEST


def _uses_pytest(root: Path, text: str) -> bool:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    if "pytest" in cast("dict[str, Any]", tables.get("tool", {})):
        return True
    has_tests = any((root / name).exists() for name in ("conftest.py", "tests/conftest.py"))
    return has_tests or re.search(r"""["']pytest\b""", text) is not None


def _find_npm(root: Path, text: str) -> str:
    try:
        script = msgspec.json.decode(text, type=_PackageJson).scripts.get("test", "")
    except msgspec.DecodeError:
        return ""
    if not script.strip() or _NO_TEST in script:
        return ""
    managers = {"pnpm-lock.yaml": "pnpm test", "yarn.lock": "yarn test", "bun.lock": "bun run test"}
    return next((command for lock, command in managers.items() if (root / lock).is_file()), "npm test")


class _PackageJson(Struct, frozen=True):
    scripts: dict[str, str] = {}


def _find_make(root: Path, text: str) -> str:
    return "make test" if _MAKE_TARGET.search(text) else ""


_FINDERS: dict[str, Callable[[Path, str], str]] = {
    "pyproject.toml": _find_pytest,
    "pytest.ini": lambda root, text: _PYTEST,
    "package.json": _find_npm,
    "Makefile": _find_make,
    "Cargo.toml": lambda root, text: "cargo test",
    "go.mod": lambda root, text: "go test ./...",
}


def _read(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return None
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
