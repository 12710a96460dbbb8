"""The conformance suite on every built-in executor, each with a real process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.executors.command import PRESETS, CommandExecutor
from ostler.executors.protocol import Capabilities
from ostler.executors.registry import BUILT_IN, ExecutorRegistry
from ostler.executors.scripted.executor import ScriptedExecutor
from ostler.model.call import AgentCall, AgentEvent, CallResult, OnEvent, ToolReturned, ToolUsed
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.conformance import CHECKS, Make, NotConforming, Subject, check_conformance, run_check
from ostler.testing.fake_agent import fake_agent
from ostler.testing.mocks import MockExecutor

REMEMBERING = """
import pathlib, sys, time
mode, session, prompt = sys.argv[1], pathlib.Path(sys.argv[2]), sys.stdin.read()
if mode == "hang": time.sleep(600)
told = session.read_text() if session.exists() else ""
session.write_text(told + prompt)
print("osprey" if "osprey" in told + prompt else "OK")
"""


def program_subject(wire: str, directory: Path, *, refuses_taken_ids: bool = True) -> Subject:
    """Return a subject for an agent program, which the fake plays in its output format."""
    factory = ExecutorRegistry().get(wire)

    def make(kind: str, fault: str = "") -> Make:
        program = fake_agent(directory / kind, wire, fault=fault, sessions=str(directory / "sessions"))
        settings = ExecutorSettings(command=str(program))
        return lambda: factory(wire, settings, DefaultCommandRunner())

    return Subject(
        make=make("good"),
        make_missing=make("missing", "a19_missing"),
        make_hanging=make("hanging", "a2_ignores_term"),
        make_empty=make("empty", "a16_empty"),
        refuses_taken_ids=refuses_taken_ids,
    )


def command_subject(directory: Path) -> Subject:
    program = directory / "program.py"
    program.write_text(REMEMBERING)

    def make(mode: str, command: str = sys.executable) -> Callable[[], CommandExecutor]:
        args = (str(program), mode, str(directory / "{session_id}.txt"))
        return lambda: CommandExecutor(
            "mine", ExecutorSettings(command=command, args=args), DefaultCommandRunner()
        )

    return Subject(
        make=make("work"),
        make_missing=make("work", "/nowhere/agent"),
        make_hanging=make("hang"),
        keeps_sessions=False,
    )


def plain_command_subject(directory: Path) -> Subject:
    settings = ExecutorSettings(command="sh", args=("-c", "cat"))
    return Subject(make=lambda: CommandExecutor("plain", settings, DefaultCommandRunner()))


def scripted_subject(directory: Path) -> Subject:
    hanging = directory / "hang.yaml"
    hanging.write_text("- say: I wait\n- sleep: 600\n")
    empty = directory / "empty.yaml"
    empty.write_text("- say: ' '\n")

    def make(*args: str) -> Callable[[], ScriptedExecutor]:
        return lambda: ScriptedExecutor("scripted", ExecutorSettings(args=args), DefaultCommandRunner())

    fence = "```"
    return Subject(
        make=make(),
        make_hanging=make(str(hanging)),
        make_empty=make(str(empty)),
        work=f"{fence}ostler-script\n- edit: {{path: a.txt, content: a}}\n- say: done\n{fence}\n",
        remember=f"{fence}ostler-script\n- say: osprey\n{fence}\n",
        recall="Go on.",
        ask=f"{fence}ostler-script\n- say: osprey\n{fence}\n",
    )


SUBJECTS: dict[str, Callable[[Path], Subject]] = {
    **{
        wire: partial(program_subject, wire)
        for wire in ("acp", "claude", "codex", "cursor", "gemini", "opencode", "qwen")
    },
    "copilot": partial(program_subject, "copilot", refuses_taken_ids=False),
    "command": command_subject,
    "plain-command": plain_command_subject,
    "scripted": scripted_subject,
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_executor_conforms(subject: str, check: str, tmp_path: Path) -> None:
    """Each built-in executor passes each check."""
    (tmp_path / "kit").mkdir()
    asyncio.run(run_check(check, SUBJECTS[subject](tmp_path / "kit"), tmp_path / "bench"))


def test_no_built_in_is_left_out() -> None:
    """Each entry of BUILT_IN is a subject, except for presets and -acp names, which share a type."""
    aliases = {name for name in BUILT_IN if name in PRESETS or name.endswith("-acp")}
    assert set(BUILT_IN) - aliases - {"model_api"} <= set(SUBJECTS)


def test_suite_finds_what_is_wrong(tmp_path: Path) -> None:
    """An executor that claims everything and does nothing fails most checks."""

    async def pretend(call: AgentCall, on_event: OnEvent) -> CallResult:
        return CallResult(None, text="OK", session_id="always-the-same", exit_code=0)

    def make() -> MockExecutor:
        claims = Capabilities(resumes=True, accepts_session_id=True, structured_output=True, own_sandbox=True)
        return MockExecutor(capabilities=claims, spawn_function=pretend, resume_function=pretend)

    liar = Subject(make=make, make_missing=make, make_hanging=make, make_empty=make)
    complaints = asyncio.run(check_conformance(liar, tmp_path))
    found = {complaint.partition(":")[0] for complaint in complaints}
    blind = {"has_a_name", "counts_cost_once", "counts_usage_once"}
    blind |= {"takes_a_prompt_of_any_length", "declares_only_own_variables", "stays_in_its_sandbox"}
    assert found == set(CHECKS) - blind


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        ([ToolUsed("Edit", "a", "u1"), ToolUsed("Edit", "b")], "no result was reported for u1"),
        ([ToolReturned("u2")], "a result of 'u2' was reported without a use"),
    ],
)
def test_tools_that_never_return_are_found(events: list[AgentEvent], complaint: str, tmp_path: Path) -> None:
    """An executor that numbers the uses of tools reports their results."""

    async def work(call: AgentCall, on_event: OnEvent) -> CallResult:
        Path(call.transcript).write_text("{}")
        for event in events:
            on_event(event)
        return CallResult(None, text="OK", exit_code=0)

    subject = Subject(make=lambda: MockExecutor(spawn_function=work))
    with pytest.raises(NotConforming, match=complaint):
        asyncio.run(run_check("does_the_work", subject, tmp_path))


def test_check_raises_for_one_complaint(tmp_path: Path) -> None:
    """A single check reports the failure in one sentence."""
    subject = Subject(make=lambda: MockExecutor(name=" "))
    with pytest.raises(NotConforming, match="the name is blank"):
        asyncio.run(run_check("has_a_name", subject, tmp_path))
