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
from ostler.executors.health import State
from ostler.executors.login import Login
from ostler.files.disk import require_writable
from ostler.files.layout import Layout
from ostler.model.command import Command
from ostler.notify.inspection import inspect
from ostler.process.runner import DefaultCommandRunner
from ostler.process.spawner import create_spawner
from ostler.process.tool import run_tool
from ostler.project.inspection import Inspection, inspect_agents
from ostler.store.outbox import Letter, Outbox
from ostler.store.sqlite import SqliteJournal

_FIXED_SQLITE = (3, 51, 3)


class Check(Struct, frozen=True):
    name: str
    ok: bool
    detail: str
    fix: str = ""
    required: bool = True
    state: str = ""  # of an agent: as it answers, or drift


def examine(start: Path, environ: Mapping[str, str]) -> list[Check]:
    """Every check, in the order in which a person would make them."""
    root = find_root(start, environ) or start
    checks = [_python(), _attempt("git", _git), _sqlite(), _attempt("processes", _processes)]
    settings = _attempt("settings", lambda: _settings(root, environ))
    checks.append(settings)
    checks.append(_attempt("tasks", lambda: _journal(Layout(root))))
    checks += _notified(Layout(root), environ) if settings.ok else []
    return checks + [_agent(seen) for seen in inspect_agents(environ)]


def _attempt(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except OstlerError as error:
        return Check(name, False, error.message.splitlines()[0], error.hint)
    except OSError as error:
        return Check(name, False, str(error), f"install {name}" if name == "git" else "")
    except Exception as error:  # noqa: BLE001  (what breaks one check must not hide the others)
        return Check(name, False, f"{type(error).__name__}: {error}", "please report it")


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
    for place in (layout.root, layout.state):
        require_writable(place)
    if not layout.database.exists():
        return "none yet"
    journal = SqliteJournal(layout.database)
    try:
        return f"{len(journal.rows())} in {layout.database}"
    finally:
        journal.close()


def _notified(layout: Layout, environ: Mapping[str, str]) -> list[Check]:
    """One check for each entry of [[notify]]."""
    entries = load_settings(layout.root, environ, {}).settings.notify
    letters = _letters(layout) if entries else []
    found = [inspect(entry, environ, letters) for entry in entries]
    return [
        Check(f"notify {one.place}", not one.trouble, one.trouble or "set up", one.fix, required=False)
        for one in found
    ]


def _letters(layout: Layout) -> list[Letter]:
    try:
        with Outbox(layout.database) as outbox:
            return outbox.letters()
    except OstlerError:
        return []  # there is none yet, or the check of the tasks tells what is wrong with it


def _agent(seen: Inspection) -> Check:
    name, known = f"agent {seen.known.name}", seen.known
    if seen.health.state is not State.HEALTHY:
        where = f" ({seen.path})" if seen.path else ""
        silent = seen.health.state is State.TIMEOUT
        fix = f"ask it yourself: {seen.path} --version" if silent else known.install
        return Check(name, False, seen.health.detail + where, fix, required=False, state=seen.health.state)
    if seen.gone:
        detail = f"version {seen.health.version} has no {'; no '.join(map(str, seen.gone))} ({seen.path})"
        fix = known.install_proved or f"set executors.{known.name}.args, or upgrade Ostler"
        return Check(name, False, detail, fix, required=False, state="drift")
    if seen.login is Login.NO:
        detail = f"{seen.health.version} at {seen.path}: nobody is logged in"
        return Check(name, False, detail, known.login, required=False, state="logged_out")
    detail = f"{seen.health.version}{_proof(seen)} at {seen.path}"
    return Check(name, True, detail, required=False, state=seen.health.state)


def _proof(seen: Inspection) -> str:
    if not seen.known.proved:
        return " (never tried by us)"
    return "" if seen.health.version == seen.known.proved else f" (proved with {seen.known.proved})"
