"""The suite can fail: an executor that claims what its program does not do is found out, claim by claim."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields, replace

from ostler.config.settings import ExecutorSettings
from ostler.executors.command import CommandExecutor
from ostler.executors.protocol import Capabilities, Executor
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall, CallResult, OnEvent
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.conformance import CLAIMS, NotConforming, Subject, run_check
from ostler.testing.fake_agent import fake_agent
from ostler.testing.mocks import MockExecutor


def program(wire: str, place: Path) -> Executor:
    """A shipped executor in front of the fake of its agent."""
    command = str(fake_agent(place, wire, sessions=str(place / "sessions")))
    return ExecutorRegistry().get(wire)(wire, ExecutorSettings(command=command), DefaultCommandRunner())


def silent(_: str, __: Path) -> Executor:
    return CommandExecutor("silent", ExecutorSettings(command="true"), DefaultCommandRunner())


def forgetful(_: str, __: Path) -> Executor:
    settings = ExecutorSettings(command="sh", args=("-c", "echo OK", "{session_id}"))
    return CommandExecutor("forgetful", settings, DefaultCommandRunner())


class ByArgument(CommandExecutor):
    """Hands the prompt over as an argument."""

    async def _run(self, call: AgentCall, on_event: OnEvent) -> CallResult:
        self._settings = ExecutorSettings(command="echo", args=(call.prompt,))
        return await super()._run(call, on_event)


def by_argument(_: str, __: Path) -> Executor:
    return ByArgument("echo", ExecutorSettings(command="echo"), DefaultCommandRunner())


def eager(_: str, __: Path) -> Executor:
    return MockExecutor()


def obedient(_: str, __: Path) -> Executor:
    async def obey(call: AgentCall, on_event: OnEvent) -> CallResult:
        return CallResult(None, text='{"word": "osprey", "sure": true}', session_id=call.session_id)

    return MockExecutor(spawn_function=obey)


Make = Callable[[str, Path], Executor]

LIES: list[tuple[str, Make, str, dict[str, Any], str]] = [
    ("resumes", forgetful, "", {"resumes": True}, "history is gone"),
    ("resumes", eager, "", {"resumes": False}, "resume without the capability gave None"),
    ("takes_our_id", program, "codex", {"takes_our_id": True}, "did not take our session id"),
    ("reports_usage", program, "copilot", {"reports_usage": True}, "claims to report usage"),
    ("reports_usage", program, "codex", {"reports_usage": False}, "usage without claiming"),
    ("reports_cost", program, "gemini", {"reports_cost": True}, "claims to report cost"),
    ("reports_cost", program, "opencode", {"reports_cost": False}, "cost without claiming"),
    ("speaks", silent, "", {"speaks": True}, "claims to speak"),
    ("starts_program", program, "qwen", {"starts_program": False}, "started a program without"),
    ("acp", program, "claude", {"acp": True}, "claims to speak ACP"),
    ("acp", program, "acp", {"acp": False}, "JSON-RPC without claiming"),
    ("structured_output", program, "gemini", {"structured_output": True}, "claims structured output"),
    ("structured_output", obedient, "", {"structured_output": False}, "without claiming to"),
    ("own_sandbox", program, "gemini", {"own_sandbox": True}, "wrote outside of its workspace"),
    ("stdin_prompt", by_argument, "", {"stdin_prompt": True}, "a prompt of 200 kB gave"),
    ("environment", program, "cursor", {"environment": ("*",)}, "no variable"),
    ("environment", program, "cursor", {"environment": ("SSH_*",)}, "would give it SSH_AUTH_SOCK"),
    ("environment_with", program, "claude", {"environment_with": {"A": ("D*",)}}, "DATABASE_URL"),
]


def subject(make: Make, wire: str, claims: dict[str, Any], place: Path) -> Subject:
    """The executor with other claims than it should make."""

    def lie() -> Executor:
        made: Any = make(wire, place)
        told = replace(made.capabilities, **claims)
        if hasattr(made, "dialect"):
            made.dialect = replace(made.dialect, capabilities=told)
        else:
            made.capabilities = told
        return made

    return Subject(make=lie)


@pytest.mark.parametrize(
    ("claim", "make", "wire", "claims", "complaint"),
    LIES,
    ids=[f"{claim}-{wire or make.__name__}" for claim, make, wire, *_ in LIES],
)
def test_false_claim_is_found_out(
    claim: str, make: Make, wire: str, claims: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    """The check that belongs to the claim complains about it."""
    check = CLAIMS[claim].__name__
    lying = subject(make, wire, claims, tmp_path / "kit")
    with pytest.raises(NotConforming, match=complaint):
        asyncio.run(run_check(check, lying, tmp_path / "lie"))


def test_program_that_has_none_is_found_out(tmp_path: Path) -> None:
    """An executor that claims a program, and works within this process, has no exit code to show."""

    class Within:
        name = "within"
        capabilities = Capabilities()

        def validate_availability(self) -> None: ...

        async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
            return CallResult(None, text="OK", session_id=call.session_id)

        resume = spawn

    with pytest.raises(NotConforming, match="no exit code"):
        asyncio.run(run_check("keeps_its_claims", Subject(make=Within), tmp_path))


def test_every_claim_has_a_check_and_a_liar() -> None:
    """A new field of Capabilities needs both, or this fails."""
    claims = {field.name for field in fields(Capabilities)}
    assert set(CLAIMS) == claims
    assert {claim for claim, *_ in LIES} == claims
