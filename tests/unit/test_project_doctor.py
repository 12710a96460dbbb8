"""The checks of a machine, a project and its agents."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nemesis import needs_root, read_only
from ostler.config.settings import ExecutorSettings, Settings
from ostler.executors.discover import PROGRAMS
from ostler.executors.gemini import GeminiExecutor
from ostler.executors.health import Health, HealthState
from ostler.executors.survey import list_flags
from ostler.project.agents.executors import ExecutorStatus, list_executors, probe_executors
from ostler.project.inspection.doctor import Check, run_checks
from ostler.project.project import Project
from ostler.testing.fake_agent import fake_agent

GEMINI = frozenset(list_flags(GeminiExecutor.spec)[()])


def gemini(place: Path, version: str, flags: frozenset[str] = GEMINI, body: str = "") -> dict[str, str]:
    """An environment in which gemini is this program."""
    place.mkdir(parents=True, exist_ok=True)
    path = place / "gemini"
    lines = "".join(f"  {flag}  text\n" for flag in sorted(flags))
    path.write_text(
        f'#!/bin/sh\n{body}\n[ "$1" = --version ] && {{ echo {version}; exit; }}\ncat <<E\n{lines}E\n'
    )
    path.chmod(0o755)
    return {"OSTLER_GEMINI_PATH": str(path), "PATH": os.environ["PATH"], "HOME": str(place)}


THIRD = """
from ostler.executors.discover import AgentProgram
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.program.spec import AgentSpec
from ostler.executors.protocol import Capabilities

class Third(ProgramExecutor):
    spec = AgentSpec(AgentProgram("third", "get third"), Capabilities(), lambda options: ())
"""


def agents(environ: dict[str, str], place: Path) -> dict[str, Check]:
    return {check.name.removeprefix("agent "): check for check in run_checks(place, environ)}


def test_each_missing_agent_has_its_one_command(tmp_path: Path) -> None:
    """With an empty PATH nothing is found, and each line has the install command."""
    found = agents({"PATH": "", "HOME": str(tmp_path)}, tmp_path)
    for known in PROGRAMS:
        missing = Check(f"agent {known.name}", False, "not found", known.install, False, "not_found")
        assert found[known.name] == missing


def test_proved_version_is_just_there(tmp_path: Path) -> None:
    """Only the version and the path."""
    environ = gemini(tmp_path, "0.61.0")
    detail = f"0.61.0 at {tmp_path}/gemini"
    assert agents(environ, tmp_path)["gemini"] == Check("agent gemini", True, detail, "", False, "healthy")


def test_other_version_shows_which_was_proved(tmp_path: Path) -> None:
    """A newer version with the same flags is not drift."""
    check = agents(gemini(tmp_path, "0.99.0"), tmp_path)["gemini"]
    assert (check.ok, check.detail) == (True, f"0.99.0 (tested with 0.61.0) at {tmp_path}/gemini")


def test_agent_that_was_never_tried_is_marked(tmp_path: Path) -> None:
    """Cursor's adapter was written from its documentation."""
    path = fake_agent(tmp_path / "bin", "cursor")
    check = agents({"OSTLER_CURSOR_PATH": str(path), "PATH": "", "HOME": str(tmp_path)}, tmp_path)["cursor"]
    assert check.ok and "(not tested with Ostler)" in check.detail


def test_agent_of_another_package_is_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent of a plugin is checked like a built-in one; a broken plugin hides nothing."""
    package = tmp_path / "third-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: third\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[ostler.executors]\nthird = third_agent:Third\nbad = bad:B\n")
    (tmp_path / "third_agent.py").write_text(THIRD)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = agents({"PATH": "", "HOME": str(tmp_path)}, tmp_path)
    assert found["third"] == Check("agent third", False, "not found", "get third", False, "not_found")
    assert "bad" not in found and "gemini" in found


def test_executors_of_the_settings_are_listed(tmp_path: Path) -> None:
    """A program of your own is an agent too, and an agent works by the command that the settings name."""
    path = fake_agent(tmp_path / "bin", "claude")
    commands = {"mine": 'type = "command"\ncommand = "sh"', "claude": f'command = "{path}"'}
    commands["lost"] = 'type = "command"\ncommand = "no-such-agent"'
    text = "".join(f"[executors.{name}]\n{lines}\n" for name, lines in commands.items())
    (tmp_path / "ostler.toml").write_text(text)
    found = agents({"PATH": "", "HOME": str(tmp_path)}, tmp_path)
    assert found["mine"] == Check("agent mine", True, "type command", "", False, "healthy")
    assert found["claude"].ok and str(path) in found["claude"].detail
    assert (found["lost"].ok, found["lost"].state, found["codex"].state) == (False, "not_found", "not_found")
    assert found["lost"].fix


def test_flag_that_is_gone_is_drift(tmp_path: Path) -> None:
    """The missing flags, the version and the fix."""
    check = agents(gemini(tmp_path, "0.99.0", GEMINI - {"--resume", "--skip-trust"}), tmp_path)["gemini"]
    detail = f"version 0.99.0 has no --resume, --skip-trust ({tmp_path}/gemini)"
    fix = "npm install -g @google/gemini-cli@0.61.0"
    assert check == Check("agent gemini", False, detail, fix, False, "drift")


def test_broken_agent_has_its_reason(tmp_path: Path) -> None:
    """An installed program that does not work is not missing."""
    check = agents(gemini(tmp_path, "1.0.0", body="echo no node >&2; exit 1"), tmp_path)["gemini"]
    assert (check.state, check.ok, check.fix) == ("unhealthy", False, "npm install -g @google/gemini-cli")
    assert check.detail.startswith("--version exits with 1: no node (")


def test_check_that_breaks_does_not_hide_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected error fails one check only."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("what")

    monkeypatch.setattr("ostler.project.inspection.doctor.load_settings", fail)
    found = {check.name: check for check in run_checks(tmp_path, {"PATH": os.environ["PATH"]})}
    assert (found["settings"].ok, found["settings"].detail) == (False, "ZeroDivisionError: what")
    assert found["git"].ok and found["tasks"].ok


@needs_root
@pytest.mark.parametrize("made", [True, False])
def test_read_only_disk_is_named(made: bool, tmp_path: Path) -> None:
    """A read-only disk fails its check, and the other checks run."""
    project = tmp_path / "project"
    project.mkdir()
    if made:
        Project.open(project, {}, create=True).__exit__(None, None, None)
    with read_only(project):
        found = {check.name: check for check in run_checks(project, {"PATH": os.environ["PATH"]})}
    assert (found["tasks"].ok, found["tasks"].required) == (False, True)
    assert found["tasks"].detail == f"cannot write in {project}: read-only file system"
    assert found["tasks"].fix == "make it writable, then run again"
    assert all(check.ok for name, check in found.items() if name != "tasks" and check.required)


def entry(entries: list[ExecutorStatus], name: str) -> ExecutorStatus:
    return next(found for found in entries if found.name == name)


def test_roster_asks_each_program_once(tmp_path: Path) -> None:
    """Executors with the same program share one probe; those without a program have none."""
    path = str(fake_agent(tmp_path, "gemini"))
    executors = {name: ExecutorSettings(command=path) for name in ("gemini", "gemini-acp")}
    asked: list[str] = []

    def ask(at: str) -> Health:
        asked.append(at)
        return Health(HealthState.TIMEOUT, detail="no answer")

    entries = probe_executors(list_executors(Settings(executors=executors)), ask)
    assert asked.count(path) == 1
    for name in executors:
        found = entry(entries, name)
        assert (found.state, found.problem) == (HealthState.TIMEOUT, f"{path}: no answer")
    assert entry(entries, "scripted").state is HealthState.HEALTHY


def test_roster_has_versions(tmp_path: Path) -> None:
    """The version of each program."""
    settings = Settings(executors={"gemini": ExecutorSettings(command=str(fake_agent(tmp_path, "gemini")))})
    found = entry(probe_executors(list_executors(settings)), "gemini")
    assert (found.state, found.version, found.problem) == (HealthState.HEALTHY, "0.61.0", "")


def test_command_of_a_person_is_never_asked(tmp_path: Path) -> None:
    """An unknown program might start to work on --version."""
    mine = tmp_path / "mine"
    mine.write_text("#!/bin/sh\ntouch started\n")
    mine.chmod(0o755)
    settings = Settings(executors={"mine": ExecutorSettings(type="command", command=str(mine))})
    assert entry(list_executors(settings), "mine").path == ""
