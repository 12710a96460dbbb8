"""Checks of this machine and project: what works, what does not, and the one thing that mends it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import apsw
from msgspec import Struct

from ostler.config.find import find_root
from ostler.config.load import load_settings
from ostler.errors import OstlerError
from ostler.files.layout import Layout
from ostler.model.command import Command
from ostler.process.runner import DefaultCommandRunner
from ostler.process.spawner import create_spawner
from ostler.process.tool import run_tool
from ostler.project.agents import Program, survey
from ostler.store.sqlite import SqliteJournal

_FIXED_SQLITE = (3, 51, 3)


class Check(Struct, frozen=True):
    name: str
    ok: bool
    detail: str
    fix: str = ""
    required: bool = True


def examine(start: Path, environ: Mapping[str, str]) -> list[Check]:
    """Every check, in the order in which a person would make them."""
    root = find_root(start, environ) or start
    checks = [_python(), _attempt("git", _git), _sqlite(), _attempt("processes", _processes)]
    checks.append(_attempt("settings", lambda: _settings(root, environ)))
    checks.append(_attempt("tasks", lambda: _journal(Layout(root))))
    return checks + [_agent(program) for program in survey(environ)]


def _attempt(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except OstlerError as error:
        return Check(name, False, error.message.splitlines()[0], error.hint)
    except OSError as error:
        return Check(name, False, str(error), f"install {name}" if name == "git" else "")


def _python() -> Check:
    return Check(
        "python", sys.version_info >= (3, 11), sys.version.split()[0], "install Python 3.11 or newer"
    )


def _git() -> str:
    done = run_tool(["git", "--version"], env=dict(os.environ), cwd="/", timeout_seconds=5)
    return done.stdout.decode().strip().removeprefix("git version ")


def _sqlite() -> Check:
    found = apsw.sqlite_lib_version()
    fixed = tuple(int(part) for part in found.split(".")) >= _FIXED_SQLITE
    return Check("sqlite", fixed, f"{found} (in apsw)", "pip install -U apsw")


def _processes() -> str:
    """Starts a real program under a keeper and sees it end."""
    command = Command(
        ("true",), cwd="/", env={"PATH": os.environ.get("PATH", os.defpath)}, timeout_seconds=10
    )
    asyncio.run(DefaultCommandRunner(create_spawner(prefer_pty=False)).run(command, lambda _: False))
    how = "a keeper per attempt" if sys.platform == "linux" else "process groups and a marker"
    return f"{how}; one was tried just now"


def _settings(root: Path, environ: Mapping[str, str]) -> str:
    load_settings(root, environ, {})
    file = Layout(root).settings
    return str(file) if file.exists() else "defaults (no ostler.toml here)"


def _journal(layout: Layout) -> str:
    if not layout.database.exists():
        return "none yet"
    journal = SqliteJournal(layout.database)
    try:
        return f"{len(journal.rows())} in {layout.database}"
    finally:
        journal.close()


def _agent(program: Program) -> Check:
    if program.path is None:
        return Check(f"agent {program.name}", False, "not found", program.install, required=False)
    detail = f"{program.version() or 'version unknown'} at {program.path}"
    return Check(f"agent {program.name}", True, detail, required=False)
