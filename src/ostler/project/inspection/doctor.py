"""Checks of this machine and project, each with the fix for a failure."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import apsw
from msgspec.structs import replace

from ostler.clock import SystemClock
from ostler.config.find import find_root
from ostler.config.load import load_settings
from ostler.config.secrets.registered_secrets import (
    find_unredacted_variables,
    find_unusable_secrets,
    list_ordinary_values,
    list_registered_secrets,
)
from ostler.errors import Code, OstlerError, SettingsInvalid
from ostler.executors.health import HealthState, LoginStatus
from ostler.executors.survey import SurveyedAgent, survey_all
from ostler.files.disk import require_writable
from ostler.files.layout import Layout
from ostler.model.command import Command
from ostler.notify.inspection import inspect_target
from ostler.process.runner import DefaultCommandRunner
from ostler.process.spawner import create_spawner
from ostler.process.tool import run_tool
from ostler.project.agents.executors import ExecutorStatus, list_executors, probe_executors
from ostler.project.agents.retry_budget import describe_retry_budget
from ostler.project.inspection.check import Check
from ostler.project.inspection.inspect_project import inspect_project
from ostler.project.inspection.sandbox import check_sandbox, describe_left_out, list_left_out
from ostler.project.project import Project
from ostler.project.stores import find_store
from ostler.sandbox.choice import INSTALL_HINT, choose_isolation
from ostler.secrets.registry import MIN_LENGTH, SecretRegistry
from ostler.secrets.rules import RULES
from ostler.store.outbox import OutboxMessage
from ostler.store.queries.last_calls import LastCall
from ostler.views.agent_work.last_call import describe_last_call

_FIXED_SQLITE = (3, 51, 3)


def run_checks(start: Path, environ: Mapping[str, str]) -> list[Check]:
    """Run all checks."""
    root = find_root(start, environ) or start
    checks = [
        _check_python(),
        _run_check("git", _check_git),
        _check_sqlite(),
        _run_check("processes", _check_processes),
        _check_isolation(environ),
    ]
    settings = _run_check("settings", lambda: _check_settings(root, environ))
    checks.append(settings)
    sandbox = check_sandbox(root, environ) if settings.ok else []
    checks += sandbox
    checks.append(_run_check("tasks", lambda: _check_journal(Layout(root), environ)))
    checks += _check_notify(Layout(root), environ) if settings.ok else []
    checks += [_check_secrets(root, environ)] if settings.ok else []
    checks += _check_project(root, environ)
    calls, now = _read_last_calls(Layout(root), environ), SystemClock.now()
    checks += _check_retries(root, environ) if settings.ok else []
    agents = [(agent, _check_agent(agent)) for agent in survey_all(environ)]
    if len(sandbox) > 1:  # agents run in a sandbox
        agents = [(agent, _add_left_out(check, agent, root, environ)) for agent, check in agents]
    known = {check.name: _add_last_call(check, agent, calls, now) for agent, check in agents}
    known |= _check_own_executors(root, environ, known) if settings.ok else {}
    return [*checks, *known.values()]


def _read_last_calls(layout: Layout, environ: Mapping[str, str]) -> Mapping[str, LastCall]:
    try:
        return find_store(layout, environ).read_last_calls().by_executor
    except SettingsInvalid:  # the check of the settings reports it
        return {}


def _run_check(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except OstlerError as error:
        return Check(name, False, error.message.splitlines()[0], error.hint)
    except OSError as error:
        return Check(name, False, str(error), f"install {name}" if name == "git" else "")
    except Exception as error:  # noqa: BLE001  (an error in one check must not hide the others)
        return Check(name, False, f"{type(error).__name__}: {error}", "please report it")


def _check_python() -> Check:
    return Check(
        "python", sys.version_info >= (3, 11), sys.version.split()[0], "install Python 3.11 or newer"
    )


def _check_git() -> str:
    done = run_tool(["git", "--version"], env=dict(os.environ), cwd="/", timeout_seconds=5)
    return done.stdout.decode().strip().removeprefix("git version ")


def _check_sqlite() -> Check:
    found = apsw.sqlite_lib_version()
    fixed = tuple(int(part) for part in found.split(".")) >= _FIXED_SQLITE
    return Check("sqlite", fixed, f"{found} (in apsw)", "pip install -U apsw")


def _check_processes() -> str:
    """Run a real program under a keeper."""
    command = Command(
        ("true",), cwd="/", env={"PATH": os.environ.get("PATH", os.defpath)}, timeout_seconds=10
    )
    asyncio.run(DefaultCommandRunner(create_spawner(prefer_pty=False)).run(command, lambda _: False))
    how = "a keeper per attempt" if sys.platform == "linux" else "process groups and a marker"
    return f"{how}; tested with one process"


def _check_isolation(environ: Mapping[str, str]) -> Check:
    """Run the self-test of the isolation that the commands of gates will have."""
    found = choose_isolation("auto", (), environ, network=True).isolation
    weaker = "no namespaces: gates use an environment of the lockfile, or a guard in Python programs"
    detail = weaker if found == "none" else f"gates: {found}"
    # Another isolation works, but is weaker.
    return Check("isolation", found == "bind-over", detail, INSTALL_HINT, required=False, state="warning")


def _check_settings(root: Path, environ: Mapping[str, str]) -> str:
    load_settings(root, environ, {})
    file = Layout(root).settings
    return str(file) if file.exists() else "defaults (no ostler.toml here)"


def _check_project(root: Path, environ: Mapping[str, str]) -> list[Check]:
    """One check for each problem of the preflight; those of agents and notifications are checked above."""
    try:
        problems = inspect_project(root, environ)
    except OstlerError as error:
        return [Check("preflight", False, error.message, error.hint)]
    shown = [one for one in problems if not one.key.startswith("notify[")]
    found = [
        Check("preflight", False, one.text, required=one.severity == "error", state=one.severity)
        for one in shown
    ]
    return found or [Check("preflight", True, "a run lacks nothing")]


def _check_journal(layout: Layout, environ: Mapping[str, str]) -> str:
    for place in (layout.root, layout.state):
        require_writable(place)
    store = find_store(layout, environ)
    if not store.exists():
        return "none yet"
    with store.open_journal() as journal:
        upgraded = f"; upgraded just now, backup: {journal.backup}" if journal.backup else ""
        return f"{len(journal.rows())} in {store.name}{upgraded}"


def _check_secrets(root: Path, environ: Mapping[str, str]) -> Check:
    """Show what is redacted: the names of registered secrets, never their values."""
    settings = load_settings(root, environ, {}).settings
    registry = SecretRegistry()
    registry.register(list_registered_secrets(settings, environ, root))
    counts = Counter(registry.known().names)
    names = [f"{name} ({count} values)" if count > 1 else name for name, count in sorted(counts.items())]
    listed = f": {', '.join(names)}" if names else ""
    detail = f"{len(RULES)} kinds by their form; {counts.total()} registered{listed}"
    if ordinary := list_ordinary_values(settings, environ, root):
        detail += f"; not redacted, as ordinary text or too short: {', '.join(ordinary)}"
    reasons = [reason for _, reason in find_unusable_secrets(settings, environ, root)]
    if unredacted := find_unredacted_variables(settings, environ, root):
        reasons.append(f"sandbox.env_allow passes secrets that are not redacted: {', '.join(unredacted)}")
    fix = (
        f"correct [secrets] in ostler.toml; secrets.env registers values of at least {MIN_LENGTH} characters"
    )
    return Check("secrets", not reasons, "; ".join(reasons) or detail, fix, required=False)


def _check_notify(layout: Layout, environ: Mapping[str, str]) -> list[Check]:
    """One check for each entry of [[notify]]."""
    entries = load_settings(layout.root, environ, {}).settings.notify
    letters = _read_outbox(layout, environ) if entries else []
    found = [inspect_target(entry, environ, letters) for entry in entries]
    return [
        Check(f"notify {one.target}", not one.problem, one.problem or "set up", one.fix, required=False)
        for one in found
    ]


def _read_outbox(layout: Layout, environ: Mapping[str, str]) -> list[OutboxMessage]:
    try:
        with find_store(layout, environ).open_outbox() as outbox:
            return outbox.messages()
    except OstlerError:
        return []  # there is no database yet, or the check of the tasks reports the error


def _check_agent(agent: SurveyedAgent) -> Check:
    name, program = f"agent {agent.program.name}", agent.program
    if agent.health.state is not HealthState.HEALTHY:
        where = f" ({agent.path})" if agent.path else ""
        timed_out = agent.health.state is HealthState.TIMEOUT
        fix = f"check it when the machine is less busy: {agent.path} --version" if timed_out else agent.fix
        return Check(name, False, agent.health.detail + where, fix, required=False, state=agent.health.state)
    if agent.missing_flags:
        missing = "; no ".join(map(str, agent.missing_flags))
        detail = f"version {agent.health.version} has no {missing} ({agent.path})"
        fix = program.install_tested_version or f"set executors.{program.name}.args, or upgrade Ostler"
        return Check(name, False, detail, fix, required=False, state="drift")
    if agent.login is LoginStatus.NO:
        detail = f"{agent.health.version} at {agent.path}: not logged in"
        return Check(name, False, detail, program.login_command, required=False, state="logged_out")
    detail = f"{agent.health.version}{_describe_tested_version(agent)} at {agent.path}"
    return Check(name, True, detail, required=False, state=agent.health.state)


def _check_own_executors(
    root: Path, environ: Mapping[str, str], known: Mapping[str, Check]
) -> dict[str, Check]:
    """Return a check of each executor of the settings that is no known agent, or has a command that works."""
    settings = load_settings(root, environ, {}).settings
    entries = [
        one
        for one in list_executors(settings)
        if one.name in settings.executors
        and (f"agent {one.name}" not in known or settings.executors[one.name].command)
    ]
    checks = [_check_executor(one) for one in probe_executors(entries)]
    return {
        one.name: one
        for one in checks
        if (before := known.get(one.name)) is None or (one.ok and not before.ok)
    }


def _check_executor(entry: ExecutorStatus) -> Check:
    name = f"agent {entry.name}"
    if entry.problem:
        is_missing = entry.state is HealthState.NOT_FOUND
        detail, fix = ("not found", entry.problem) if is_missing else (entry.problem, "")
        return Check(name, False, detail, fix, required=False, state=entry.state)
    where = f" at {entry.path}" if entry.path else ""
    detail = f"{entry.version or f'type {entry.type}'}{where}"
    return Check(name, True, detail, required=False, state=entry.state)


def _add_left_out(check: Check, agent: SurveyedAgent, root: Path, environ: Mapping[str, str]) -> Check:
    """Return the check with what its agent does not get of the home directory."""
    if not agent.path:
        return check
    try:
        return replace(check, more=describe_left_out(list_left_out(agent.program.name, root, environ)))
    except OstlerError as error:
        return replace(check, more=(f"its files for the sandbox cannot be prepared: {error.message}",))


def _add_last_call(check: Check, agent: SurveyedAgent, calls: Mapping[str, LastCall], now: float) -> Check:
    """Return the check with how the last call of the agent ended; a refused login is a failure."""
    call = calls.get(agent.program.name)
    if call is None or not check.ok:
        return check
    detail = f"{check.detail}; last call: {describe_last_call(call, now)}"
    if call.code is Code.AUTH_FAILED:
        return replace(check, ok=False, detail=detail, fix=agent.program.login_command, state="logged_out")
    return replace(check, detail=detail)


def _check_retries(root: Path, environ: Mapping[str, str]) -> list[Check]:
    """One check, only when failures are not retried any more."""
    try:
        if not find_store(Layout(root), environ).exists():
            return []
        with Project.open(root, environ) as project:
            used_up = describe_retry_budget(project, SystemClock.now())
    except OstlerError:
        return []  # the check of the tasks reports the error
    fix = "wait, fix the cause of the failures, or raise retry.budget_per_hour"
    return [Check("retries", False, used_up, fix, required=False)] if used_up else []


def _describe_tested_version(agent: SurveyedAgent) -> str:
    if not agent.program.tested_version:
        return " (not tested with Ostler)"
    return (
        ""
        if agent.health.version == agent.program.tested_version
        else f" (tested with {agent.program.tested_version})"
    )
