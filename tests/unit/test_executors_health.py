"""The health and the login of an agent program; results are cached for one minute (C26)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ostler.executors.discover import CLAUDE, CODEX, GEMINI, PROGRAMS, AgentProgram
from ostler.executors.health import (
    CACHE_SECONDS,
    CachedProbe,
    Health,
    HealthState,
    LoginStatus,
    check_login,
    probe_program,
)
from ostler.testing.fake_agent import fake_agent


def script(directory: Path, body: str, mode: int = 0o755) -> str:
    path = directory / "agent"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("2.1.325 (Claude Code)", "2.1.325"),
        ("codex-cli 0.166.0", "0.166.0"),
        ("GitHub Copilot CLI 1.0.102.\nRun copilot update", "1.0.102"),
        ("v1.2.3-beta.4", "1.2.3-beta.4"),
        ("a notice first\n0.61.0", "0.61.0"),
    ],
)
def test_healthy_program_has_a_version(printed: str, version: str, tmp_path: Path) -> None:
    """The version is found in the output of each program."""
    assert probe_program(script(tmp_path, f"cat <<'E'\n{printed}\nE")) == Health(HealthState.HEALTHY, version)


def test_version_on_stderr_counts(tmp_path: Path) -> None:
    """The version may be on stderr."""
    assert probe_program(script(tmp_path, "echo 1.2.3 >&2")) == Health(HealthState.HEALTHY, "1.2.3")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("echo 'no libssl' >&2; exit 3", "--version exits with 3: no libssl"),
        ("exit 1", "--version exits with 1: no reason given"),
        ("kill -9 $$", "--version exits with -9: no reason given"),
        ("echo hello", "--version prints no version: hello"),
        ("true", "--version prints no version: nothing"),
    ],
)
def test_unhealthy_program_has_a_reason(body: str, detail: str, tmp_path: Path) -> None:
    """The program starts, but fails or prints no version."""
    assert probe_program(script(tmp_path, body)) == Health(HealthState.UNHEALTHY, detail=detail)


def test_silent_program_is_a_timeout(tmp_path: Path) -> None:
    """A program without output is stopped, and no process is left."""
    alive = tmp_path / "alive"
    path = script(tmp_path, f"echo $$ > {alive}; exec tail -f /dev/null")
    assert probe_program(path, seconds=0.5) == Health(
        HealthState.TIMEOUT, detail="no answer to --version within 0.5 s"
    )
    if alive.exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int(alive.read_text()), 0)


@pytest.mark.parametrize("path", [None, "", "/nowhere/agent"])
def test_absent_program_is_not_found(path: str | None) -> None:
    """Without a path, or without a file at the path, the state is not_found."""
    assert probe_program(path).state is HealthState.NOT_FOUND


def test_lost_interpreter_is_named(tmp_path: Path) -> None:
    """A script whose interpreter does not exist is not_found with a reason."""
    path = tmp_path / "agent"
    path.write_text("#!/nowhere/node\n")
    path.chmod(0o755)
    detail = "the interpreter that its first line names was not found"
    assert probe_program(str(path)) == Health(HealthState.NOT_FOUND, detail=detail)


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [("\x7fELF not really", 0o755, "exec format error"), ("#!/bin/sh\n", 0o644, "permission denied")],
)
def test_program_that_cannot_start_is_an_error(content: str, mode: int, reason: str, tmp_path: Path) -> None:
    """The reason of the operating system is reported."""
    path = tmp_path / "agent"
    path.write_text(content)
    path.chmod(mode)
    assert probe_program(str(path)) == Health(HealthState.ERROR, detail=f"cannot be started: {reason}")


@pytest.mark.parametrize("known", PROGRAMS, ids=lambda known: known.name)
def test_fakes_have_the_tested_versions(known: AgentProgram, tmp_path: Path) -> None:
    """The fake of each agent has the tested version."""
    found = probe_program(str(fake_agent(tmp_path, known.name)))
    assert found.state is HealthState.HEALTHY
    assert found.version == known.tested_version or not known.tested_version


class Counter:
    """A probe that counts its calls, with a clock that the test sets."""

    def __init__(self) -> None:
        self.at = 1000.0
        self.asked = 0
        self.probe = CachedProbe(lambda: self.at, self._ask)

    def _ask(self, path: str) -> Health:
        self.asked += 1
        return Health(HealthState.HEALTHY, f"1.0.{self.asked}")


def test_answer_is_kept_for_a_minute(tmp_path: Path) -> None:
    """Within 60 s a program is probed once."""
    counter, path = Counter(), script(tmp_path, "echo 1.0.0")
    assert [counter.probe(path).version for _ in range(3)] == ["1.0.1"] * 3
    counter.at += CACHE_SECONDS - 0.1
    assert counter.probe(path).version == "1.0.1"
    counter.at += 0.1
    assert counter.probe(path).version == "1.0.2"


def test_upgrade_is_seen_at_once(tmp_path: Path) -> None:
    """A replaced file is probed again, even with the same date and size."""
    counter, path = Counter(), script(tmp_path, "echo 1.0.0")
    before = Path(path).stat()
    assert counter.probe(path).version == "1.0.1"
    new = tmp_path / "new"
    new.write_text(Path(path).read_text())
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.rename(path)
    assert counter.probe(path).version == "1.0.2"


def test_link_to_another_version_is_seen_at_once(tmp_path: Path) -> None:
    """A changed link is probed again, as after an update of claude."""
    counter = Counter()
    for name in ("one", "two"):
        (tmp_path / name).write_text("x")
    link = tmp_path / "agent"
    link.symlink_to("one")
    assert counter.probe(str(link)).version == "1.0.1"
    link.unlink()
    link.symlink_to("two")
    assert counter.probe(str(link)).version == "1.0.2"


def test_program_that_appears_is_seen_at_once(tmp_path: Path) -> None:
    """A program is found immediately after its installation."""
    probe = CachedProbe()
    assert probe(str(tmp_path / "agent")).state is HealthState.NOT_FOUND
    assert probe(script(tmp_path, "echo 1.0.0")).state is HealthState.HEALTHY


ENVIRON = {"PATH": os.environ["PATH"]}


@pytest.mark.parametrize("known", [CLAUDE, CODEX], ids=lambda known: known.name)
def test_a_program_that_can_be_asked_decides(known: AgentProgram, tmp_path: Path) -> None:
    """The login check of the program decides."""
    for logged_in, expected in ((True, LoginStatus.YES), (False, LoginStatus.NO)):
        path = fake_agent(tmp_path, known.name, logged_in=logged_in, ledger=str(tmp_path / "ledger"))
        assert check_login(known, str(path), ENVIRON) is expected
    assert not (tmp_path / "ledger").exists()


def test_a_pretty_printed_no_is_a_no(tmp_path: Path) -> None:
    """The real claude prints its answer on several lines."""
    path = tmp_path / "claude"
    path.write_text("#!/bin/sh\nprintf '{\\n  \"loggedIn\": false\\n}\\n'\nexit 1\n")
    path.chmod(0o755)
    assert check_login(CLAUDE, str(path), ENVIRON) is LoginStatus.NO


def test_nothing_is_claimed_without_an_answer(tmp_path: Path) -> None:
    """Without a check, with a key that the check ignores, or after an error the login is unknown."""
    codex = fake_agent(tmp_path, "codex", logged_in=False)
    assert check_login(CODEX, str(codex), ENVIRON | {"OPENAI_API_KEY": "k"}) is LoginStatus.UNKNOWN
    assert check_login(GEMINI, str(fake_agent(tmp_path, "gemini")), ENVIRON) is LoginStatus.UNKNOWN
    assert check_login(CLAUDE, str(tmp_path / "gone"), ENVIRON) is LoginStatus.UNKNOWN
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho unknown command; exit 2\n")
    broken.chmod(0o755)
    assert check_login(CLAUDE, str(broken), ENVIRON) is LoginStatus.UNKNOWN
