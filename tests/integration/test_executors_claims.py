"""The conformance suite detects each false claim of an executor."""

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


def program(wire: str, directory: Path) -> Executor:
    """Return a built-in executor that runs the fake of its agent."""
    command = str(fake_agent(directory, wire, sessions=str(directory / "sessions")))
    return ExecutorRegistry().get(wire)(wire, ExecutorSettings(command=command), DefaultCommandRunner())


def silent(_: str, __: Path) -> Executor:
    return CommandExecutor("silent", ExecutorSettings(command="true"), DefaultCommandRunner())


def forgetful(_: str, __: Path) -> Executor:
    settings = ExecutorSettings(command="sh", args=("-c", "echo OK", "{session_id}"))
    return CommandExecutor("forgetful", settings, DefaultCommandRunner())


class ByArgument(CommandExecutor):
    """Passes the prompt as an argument."""

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
    ("resumes", forgetful, "", {"resumes": True}, "history of the session is lost"),
    ("resumes", eager, "", {"resumes": False}, "resume without the capability gave None"),
    ("accepts_session_id", program, "codex", {"accepts_session_id": True}, "the session id was not used"),
    ("reports_usage", program, "copilot", {"reports_usage": True}, "no usage was reported"),
    ("reports_usage", program, "codex", {"reports_usage": False}, "reports_usage is not claimed"),
    ("reports_cost", program, "gemini", {"reports_cost": True}, "no cost was reported"),
    ("reports_cost", program, "opencode", {"reports_cost": False}, "reports_cost is not claimed"),
    ("answers", silent, "", {"answers": True}, "the result has no text"),
    ("starts_program", program, "qwen", {"starts_program": False}, "starts_program is not claimed"),
    ("changes_files", program, "claude", {"changes_files": False}, "changes_files is not claimed"),
    ("has_account", program, "claude", {"has_account": False}, "has_account is not claimed"),
    ("acp", program, "claude", {"acp": True}, "acp is claimed"),
    ("acp", program, "acp", {"acp": False}, "acp is not claimed"),
    ("structured_output", program, "gemini", {"structured_output": True}, "structured_output is claimed"),
    ("structured_output", obedient, "", {"structured_output": False}, "structured_output is not claimed"),
    ("own_sandbox", program, "gemini", {"own_sandbox": True}, "a file was written outside the workspace"),
    ("stdin_prompt", by_argument, "", {"stdin_prompt": True}, "a prompt of 200 kB gave"),
    ("environment", program, "cursor", {"environment": ("*",)}, "not a variable name"),
    ("environment", program, "cursor", {"environment": ("SSH_*",)}, "would pass on SSH_AUTH_SOCK"),
    ("environment_with", program, "claude", {"environment_with": {"A": ("D*",)}}, "DATABASE_URL"),
]


def subject(make: Make, wire: str, claims: dict[str, Any], directory: Path) -> Subject:
    """Return a subject whose executor has these claims."""

    def lie() -> Executor:
        made: Any = make(wire, directory)
        reported = replace(made.capabilities, **claims)
        if hasattr(made, "spec"):
            made.spec = replace(made.spec, capabilities=reported)
        else:
            made.capabilities = reported
        return made

    return Subject(make=lie)


@pytest.mark.parametrize(
    ("claim", "make", "wire", "claims", "complaint"),
    LIES,
    ids=[f"{claim}-{wire or make.__name__}" for claim, make, wire, *_ in LIES],
)
def test_false_claim_is_detected(
    claim: str, make: Make, wire: str, claims: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    """The check of the claim fails."""
    check = CLAIMS[claim].__name__
    lying = subject(make, wire, claims, tmp_path / "kit")
    with pytest.raises(NotConforming, match=complaint):
        asyncio.run(run_check(check, lying, tmp_path / "lie"))


def test_program_that_has_none_is_detected(tmp_path: Path) -> None:
    """An executor that claims to start a program, and does not, has no exit code."""

    class Within:
        name = "within"
        capabilities = Capabilities()

        def validate_availability(self) -> None: ...

        async def spawn(self, call: AgentCall, on_event: OnEvent) -> CallResult:
            return CallResult(None, text="OK", session_id=call.session_id)

        resume = spawn

    with pytest.raises(NotConforming, match="no exit code"):
        asyncio.run(run_check("matches_claims", Subject(make=Within), tmp_path))


def test_every_claim_has_a_check_and_a_false_claim() -> None:
    """Each field of Capabilities has a check and a false claim."""
    claims = {field.name for field in fields(Capabilities)}
    assert set(CLAIMS) == claims
    assert {claim for claim, *_ in LIES} == claims
