"""Whether an agent's program answers: five states, and a memory of one minute (C26)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ostler.executors.health import FRESH_SECONDS, Health, HealthProbe, State, probe
from ostler.executors.known import PROGRAMS, KnownProgram
from ostler.testing.fake_agent import fake_agent


def script(place: Path, body: str, mode: int = 0o755) -> str:
    path = place / "agent"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("2.1.325 (Claude Code)", "2.1.325"),
        ("codex-cli 0.166.0", "0.166.0"),
        ("GitHub Copilot CLI 1.0.102.\nRun copilot update", "1.0.102"),
        ("v1.2.3-beta.4", "1.2.3-beta.4"),
        ("a notice first\n0.61.0", "0.61.0"),
    ],
)
def test_healthy_program_has_a_version(said: str, version: str, tmp_path: Path) -> None:
    """The number is found in what each program prints around it."""
    assert probe(script(tmp_path, f"cat <<'E'\n{said}\nE")) == Health(State.HEALTHY, version)


def test_version_on_stderr_counts(tmp_path: Path) -> None:
    """Some programs print it there."""
    assert probe(script(tmp_path, "echo 1.2.3 >&2")) == Health(State.HEALTHY, "1.2.3")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("echo 'no libssl' >&2; exit 3", "--version exits with 3: no libssl"),
        ("exit 1", "--version exits with 1: no reason given"),
        ("kill -9 $$", "--version exits with -9: no reason given"),
        ("echo hello", "--version names no version: hello"),
        ("true", "--version names no version: nothing"),
    ],
)
def test_unhealthy_program_has_a_reason(body: str, detail: str, tmp_path: Path) -> None:
    """It starts, and then fails or says nothing that could be a version."""
    assert probe(script(tmp_path, body)) == Health(State.UNHEALTHY, detail=detail)


def test_silent_program_is_a_timeout(tmp_path: Path) -> None:
    """It is not waited for, and nothing of it is left."""
    alive = tmp_path / "alive"
    path = script(tmp_path, f"echo $$ > {alive}; exec tail -f /dev/null")
    assert probe(path, seconds=0.5) == Health(State.TIMEOUT, detail="no answer to --version within 0.5 s")
    if alive.exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int(alive.read_text()), 0)


@pytest.mark.parametrize("path", [None, "", "/nowhere/agent"])
def test_absent_program_is_not_found(path: str | None) -> None:
    """No path, or one at which there is nothing."""
    assert probe(path).state is State.NOT_FOUND


def test_lost_interpreter_is_named(tmp_path: Path) -> None:
    """The script is there; what its first line names is not."""
    path = tmp_path / "agent"
    path.write_text("#!/nowhere/node\n")
    path.chmod(0o755)
    detail = "the interpreter that its first line names is not there"
    assert probe(str(path)) == Health(State.NOT_FOUND, detail=detail)


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [("\x7fELF not really", 0o755, "exec format error"), ("#!/bin/sh\n", 0o644, "permission denied")],
)
def test_program_that_cannot_start_is_an_error(content: str, mode: int, reason: str, tmp_path: Path) -> None:
    """The system's own reason is passed on."""
    path = tmp_path / "agent"
    path.write_text(content)
    path.chmod(mode)
    assert probe(str(path)) == Health(State.ERROR, detail=f"cannot be started: {reason}")


@pytest.mark.parametrize("known", PROGRAMS, ids=lambda known: known.name)
def test_fakes_have_the_proved_versions(known: KnownProgram, tmp_path: Path) -> None:
    """The fake of an agent says that it is the version which its adapter was proved with."""
    found = probe(str(fake_agent(tmp_path, known.name)))
    assert found.state is State.HEALTHY
    assert found.version == known.proved or not known.proved


class Counter:
    """A probe that counts, at a time that is set by hand."""

    def __init__(self) -> None:
        self.at = 1000.0
        self.asked = 0
        self.probe = HealthProbe(lambda: self.at, self._ask)

    def _ask(self, path: str) -> Health:
        self.asked += 1
        return Health(State.HEALTHY, f"1.0.{self.asked}")


def test_answer_is_kept_for_a_minute(tmp_path: Path) -> None:
    """Within 60 s a program is asked once, and then again."""
    counter, path = Counter(), script(tmp_path, "echo 1.0.0")
    assert [counter.probe(path).version for _ in range(3)] == ["1.0.1"] * 3
    counter.at += FRESH_SECONDS - 0.1
    assert counter.probe(path).version == "1.0.1"
    counter.at += 0.1
    assert counter.probe(path).version == "1.0.2"


def test_upgrade_is_seen_at_once(tmp_path: Path) -> None:
    """A file that was replaced is asked anew, also where its date and size are those of the old one."""
    counter, path = Counter(), script(tmp_path, "echo 1.0.0")
    before = Path(path).stat()
    assert counter.probe(path).version == "1.0.1"
    new = tmp_path / "new"
    new.write_text(Path(path).read_text())
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.rename(path)
    assert counter.probe(path).version == "1.0.2"


def test_link_to_another_version_is_seen_at_once(tmp_path: Path) -> None:
    """As claude's own updater does it: the name stays, and leads elsewhere."""
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
    """What was missing is not missing for another minute after its installation."""
    probe = HealthProbe()
    assert probe(str(tmp_path / "agent")).state is State.NOT_FOUND
    assert probe(script(tmp_path, "echo 1.0.0")).state is State.HEALTHY
