"""The other real agents: their versions, flags and claims; only in make test-full."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from fetch_agents import PACKAGES, agent_path
from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.discover import PROGRAMS
from ostler.executors.health import Health, HealthState, probe_program
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.registry import ExecutorRegistry
from ostler.executors.survey import find_drift, list_flags, read_help
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.conformance import CLAIMS, Make, Subject, run_check
from ostler.testing.fake_llm import Answer, FakeLlm, Request, fit, say
from real_agents import AGENTS, CACHE, Seat

KINDS = [*AGENTS, *(f"{name}-acp" for name in AGENTS if name != "codex")]
KNOWN = {known.name: known for known in PROGRAMS}


def remember(request: Request) -> Answer:
    """A model that returns what the conversation contains."""
    if shaped := fit(request, sure=True):
        return shaped
    requested = "Which word" in " ".join(request.history[-3:])
    return say("osprey" if requested and request.holds("Remember the word osprey") else "OK")


def made(kind: str, *args: str) -> ProgramExecutor:
    settings = ExecutorSettings(command=str(agent_path(CACHE, kind.removesuffix("-acp"))), args=args)
    executor = ExecutorRegistry().get(kind)(kind, settings, DefaultCommandRunner())
    assert isinstance(executor, ProgramExecutor)
    return executor


@pytest.mark.parametrize("name", AGENTS)
def test_version_is_the_tested_one(name: str) -> None:
    """The installed version is the tested version of discover.py."""
    assert PACKAGES[name].endswith(f"@{KNOWN[name].tested_version}")
    found = probe_program(str(agent_path(CACHE, name)), seconds=50)
    assert found == Health(HealthState.HEALTHY, KNOWN[name].tested_version)


@pytest.mark.parametrize("kind", KINDS)
def test_no_flag_of_ours_is_gone(kind: str) -> None:
    """The real help lists every flag that the executor passes."""
    path, spec = str(agent_path(CACHE, kind.removesuffix("-acp"))), made(kind).spec
    for command, flags in list_flags(spec).items():
        offered = read_help(path, command, seconds=50)
        assert offered is not None and flags <= offered
    assert find_drift(path, spec, lambda *_: frozenset({"--help"})) or kind == "opencode-acp"


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_flag_names_the_version(kind: str, tmp_path: Path) -> None:
    """The error of each program for an unknown flag is recognized (A30)."""
    name = kind.removesuffix("-acp")
    with FakeLlm([say("OK")]) as llm:
        seat = Seat(name, tmp_path, llm)
        call = seat.call("PROMPT-ONE")
        result = asyncio.run(made(kind, "--no-such-flag").spawn(call, seat.events.append))
    assert result.code is Code.AGENT_INCOMPATIBLE, result.message
    assert f"tested with {KNOWN[name].tested_version}" in result.message


@pytest.mark.parametrize("check", sorted({check.__name__ for check in CLAIMS.values()}))
@pytest.mark.parametrize("kind", KINDS)
def test_claims_hold_for_the_real_program(kind: str, check: str, tmp_path: Path) -> None:
    """The claims of each executor are true for the real program."""
    name = kind.removesuffix("-acp")
    with FakeLlm(remember) as llm:
        seat = Seat(name, tmp_path, llm)
        make: Make = lambda: made(kind)  # noqa: E731
        subject = Subject(make=make, model=seat.agent.model, env=seat.call("x").env)
        asyncio.run(run_check(check, replace(subject, env=_own(subject.env)), tmp_path / "bench"))


def _own(env: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name != "OSTLER_ATTEMPT"}
