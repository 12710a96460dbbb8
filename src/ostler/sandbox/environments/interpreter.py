"""The program that an environment is built with, and its version."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ostler.process.tool import ToolTimeout, run_tool
from ostler.sandbox.environments.recipe import NoEnvironment
from ostler.sandbox.readable import has_path
from ostler.text import describe_os_error

_SECONDS = 20.0
_PYTHON_NAMES = ("python3", "python")


def find_interpreter(prefix: Path, environ: Mapping[str, str]) -> Path:
    """Return the Python program of an environment; raises NoEnvironment if there is none."""
    for name in _PYTHON_NAMES:
        if has_path(prefix / "bin" / name):
            # The interpreter itself: a virtual environment can be in the user's checkout.
            return Path(os.path.realpath(prefix / "bin" / name))
    found = shutil.which("python3", path=environ.get("PATH"))
    if found is None:
        raise NoEnvironment(f"{prefix} has no Python program")
    return Path(os.path.realpath(found))


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of a program; None if it is not installed."""
    return shutil.which(name, path=environ.get("PATH"))


def describe_program(program: str | Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return path, version and platform; raises NoEnvironment if the program does not start."""
    path = os.path.realpath(program)
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError as error:
        raise NoEnvironment(f"{path}: {describe_os_error(error)}") from error
    version = _read_version(path, changed, environ.get("PATH", os.defpath))
    return (path, version, platform.system(), platform.machine(), *platform.libc_ver())


@cache
def _read_version(path: str, changed: int, search: str) -> str:
    try:
        ended = run_tool([path, "--version"], env={"PATH": search}, cwd="/", timeout_seconds=_SECONDS)
    except (OSError, ToolTimeout) as error:
        raise NoEnvironment(f"{path} --version: {error}") from error
    if ended.status:
        raise NoEnvironment(f"{path} --version exited with {ended.status}")
    return (ended.stdout or ended.stderr).decode("utf-8", "replace").strip()
