"""The other real agents: their versions, their flags and their claims; only under make test-full."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from fetch_agents import PACKAGES, agent_path
from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.drift import find_drift, flags_used, read_help
from ostler.executors.health import Health, State, probe
from ostler.executors.known import PROGRAMS
from ostler.executors.program import ProgramExecutor
from ostler.executors.registry import ExecutorRegistry
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.conformance import CLAIMS, Make, Subject, run_check
from ostler.testing.fake_llm import Answer, FakeLlm, Request, fit, say
from real_agents import AGENTS, CACHE, Seat

KINDS = [*AGENTS, *(f"{name}-acp" for name in AGENTS if name != "codex")]
KNOWN = {known.name: known for known in PROGRAMS}


def remember(request: Request) -> Answer:
    """A model that knows what it was told, and nothing else."""
    if shaped := fit(request, sure=True):
        return shaped
    asked = "Which word" in " ".join(request.history[-3:])
    return say("osprey" if asked and request.holds("Remember the word osprey") else "OK")


def made(kind: str, *args: str) -> ProgramExecutor:
    settings = ExecutorSettings(command=str(agent_path(CACHE, kind.removesuffix("-acp"))), args=args)
    executor = ExecutorRegistry().get(kind)(kind, settings, DefaultCommandRunner())
    assert isinstance(executor, ProgramExecutor)
    return executor


@pytest.mark.parametrize("name", AGENTS)
def test_version_is_the_proved_one(name: str) -> None:
    """What is installed for the tests is what known.py says was proved."""
    assert PACKAGES[name].endswith(f"@{KNOWN[name].proved}")
    found = probe(str(agent_path(CACHE, name)), seconds=50)
    assert found == Health(State.HEALTHY, KNOWN[name].proved)


@pytest.mark.parametrize("kind", KINDS)
def test_no_flag_of_ours_is_gone(kind: str) -> None:
    """Each real help is understood, and lists every flag that the adapter passes."""
    path, dialect = str(agent_path(CACHE, kind.removesuffix("-acp"))), made(kind).dialect
    for command, flags in flags_used(dialect).items():
        offered = read_help(path, command, seconds=50)
        assert offered is not None and flags <= offered
    assert find_drift(path, dialect, lambda *_: frozenset({"--help"})) or kind == "opencode-acp"


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_flag_names_the_version(kind: str, tmp_path: Path) -> None:
    """As after an upgrade that dropped one: what each program says then is understood (A30)."""
    name = kind.removesuffix("-acp")
    with FakeLlm([say("OK")]) as llm:
        seat = Seat(name, tmp_path, llm)
        call = seat.call("PROMPT-ONE")
        result = asyncio.run(made(kind, "--no-such-flag").spawn(call, seat.events.append))
    assert result.code is Code.AGENT_INCOMPATIBLE, result.message
    assert f"proved with {KNOWN[name].proved}" in result.message


@pytest.mark.parametrize("check", sorted({check.__name__ for check in CLAIMS.values()}))
@pytest.mark.parametrize("kind", KINDS)
def test_claims_hold_for_the_real_program(kind: str, check: str, tmp_path: Path) -> None:
    """What is claimed of an agent is true of the program itself: anything else is drift."""
    name = kind.removesuffix("-acp")
    with FakeLlm(remember) as llm:
        seat = Seat(name, tmp_path, llm)
        make: Make = lambda: made(kind)  # noqa: E731
        subject = Subject(make=make, model=seat.agent.model, env=seat.call("x").env)
        asyncio.run(run_check(check, replace(subject, env=_own(subject.env)), tmp_path / "bench"))


def _own(env: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name != "OSTLER_ATTEMPT"}
