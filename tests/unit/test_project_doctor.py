"""What doctor finds out about a machine, a project and its agents."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nemesis import needs_root, read_only
from ostler.config.settings import ExecutorSettings, Settings
from ostler.executors.drift import flags_used
from ostler.executors.gemini import GeminiExecutor
from ostler.executors.health import Health, State
from ostler.executors.known import PROGRAMS
from ostler.project.doctor import Check, examine
from ostler.project.project import Project
from ostler.project.roster import Entry, probe_roster, roster
from ostler.testing.fake_agent import fake_agent

GEMINI = frozenset(flags_used(GeminiExecutor.dialect)[()])


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
from ostler.executors.known import KnownProgram
from ostler.executors.program import Dialect, ProgramExecutor
from ostler.executors.protocol import Capabilities

class Third(ProgramExecutor):
    dialect = Dialect(KnownProgram("third", "get third"), Capabilities(), lambda start: ())
"""


def agents(environ: dict[str, str], place: Path) -> dict[str, Check]:
    return {check.name.removeprefix("agent "): check for check in examine(place, environ)}


def test_each_missing_agent_has_its_one_command(tmp_path: Path) -> None:
    """Nothing is found with an empty PATH, and each line says what would change that."""
    found = agents({"PATH": "", "HOME": str(tmp_path)}, tmp_path)
    for known in PROGRAMS:
        missing = Check(f"agent {known.name}", False, "not found", known.install, False, "not_found")
        assert found[known.name] == missing


def test_proved_version_is_just_there(tmp_path: Path) -> None:
    """No word more than the version and the place."""
    environ = gemini(tmp_path, "0.61.0")
    detail = f"0.61.0 at {tmp_path}/gemini"
    assert agents(environ, tmp_path)["gemini"] == Check("agent gemini", True, detail, "", False, "healthy")


def test_other_version_says_which_was_proved(tmp_path: Path) -> None:
    """A newer one may well work: it is no drift as long as its flags are there."""
    check = agents(gemini(tmp_path, "0.99.0"), tmp_path)["gemini"]
    assert (check.ok, check.detail) == (True, f"0.99.0 (proved with 0.61.0) at {tmp_path}/gemini")


def test_agent_that_was_never_tried_says_so(tmp_path: Path) -> None:
    """Cursor's adapter is from its documentation alone."""
    path = fake_agent(tmp_path / "bin", "cursor")
    check = agents({"OSTLER_CURSOR_PATH": str(path), "PATH": "", "HOME": str(tmp_path)}, tmp_path)["cursor"]
    assert check.ok and "(never tried by us)" in check.detail


def test_agent_of_another_package_is_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an installed package brings is an agent like ours; one that cannot be loaded hides nothing."""
    package = tmp_path / "third-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: third\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[ostler.executors]\nthird = third_agent:Third\nbad = bad:B\n")
    (tmp_path / "third_agent.py").write_text(THIRD)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = agents({"PATH": "", "HOME": str(tmp_path)}, tmp_path)
    assert found["third"] == Check("agent third", False, "not found", "get third", False, "not_found")
    assert "bad" not in found and "gemini" in found


def test_flag_that_is_gone_is_drift(tmp_path: Path) -> None:
    """What, in which version, and what to do."""
    check = agents(gemini(tmp_path, "0.99.0", GEMINI - {"--resume", "--skip-trust"}), tmp_path)["gemini"]
    detail = f"version 0.99.0 has no --resume, --skip-trust ({tmp_path}/gemini)"
    fix = "npm install -g @google/gemini-cli@0.61.0"
    assert check == Check("agent gemini", False, detail, fix, False, "drift")


def test_broken_agent_has_its_reason(tmp_path: Path) -> None:
    """It is there and does not work: that is not missing."""
    check = agents(gemini(tmp_path, "1.0.0", body="echo no node >&2; exit 1"), tmp_path)["gemini"]
    assert (check.state, check.ok, check.fix) == ("unhealthy", False, "npm install -g @google/gemini-cli")
    assert check.detail.startswith("--version exits with 1: no node (")


def test_check_that_breaks_does_not_hide_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a bug of ours is one broken line."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("what")

    monkeypatch.setattr("ostler.project.doctor.load_settings", fail)
    found = {check.name: check for check in examine(tmp_path, {"PATH": os.environ["PATH"]})}
    assert (found["settings"].ok, found["settings"].detail) == (False, "ZeroDivisionError: what")
    assert found["git"].ok and found["tasks"].ok


@needs_root
@pytest.mark.parametrize("made", [True, False])
def test_read_only_disk_is_named(made: bool, tmp_path: Path) -> None:
    """With or without a project on it: nothing can be worked on here, and all else is told as ever."""
    project = tmp_path / "project"
    project.mkdir()
    if made:
        Project.open(project, {}, create=True).__exit__(None, None, None)
    with read_only(project):
        found = {check.name: check for check in examine(project, {"PATH": os.environ["PATH"]})}
    assert (found["tasks"].ok, found["tasks"].required) == (False, True)
    assert found["tasks"].detail == f"cannot write in {project}: it is on a read-only disk"
    assert found["tasks"].fix == "make it writable, then run again"
    assert all(check.ok for name, check in found.items() if name != "tasks" and check.required)


def entry(entries: list[Entry], name: str) -> Entry:
    return next(found for found in entries if found.name == name)


def test_roster_asks_each_program_once(tmp_path: Path) -> None:
    """Two executors of one program share its answer; those without a program are asked nothing."""
    path = str(fake_agent(tmp_path, "gemini"))
    executors = {name: ExecutorSettings(command=path) for name in ("gemini", "gemini-acp")}
    asked: list[str] = []

    def ask(at: str) -> Health:
        asked.append(at)
        return Health(State.TIMEOUT, detail="no answer")

    entries = probe_roster(roster(Settings(executors=executors)), ask)
    assert asked.count(path) == 1
    for name in executors:
        found = entry(entries, name)
        assert (found.state, found.problem) == (State.TIMEOUT, f"{path}: no answer")
    assert entry(entries, "scripted").state is State.HEALTHY


def test_roster_has_versions(tmp_path: Path) -> None:
    """What each program says that it is."""
    settings = Settings(executors={"gemini": ExecutorSettings(command=str(fake_agent(tmp_path, "gemini")))})
    found = entry(probe_roster(roster(settings)), "gemini")
    assert (found.state, found.version, found.problem) == (State.HEALTHY, "0.61.0", "")


def test_command_of_a_person_is_never_asked(tmp_path: Path) -> None:
    """A program that we do not know might take --version for a reason to work."""
    mine = tmp_path / "mine"
    mine.write_text("#!/bin/sh\ntouch started\n")
    mine.chmod(0o755)
    settings = Settings(executors={"mine": ExecutorSettings(type="command", command=str(mine))})
    assert entry(roster(settings), "mine").path == ""
