"""The real claude passes the conformance suite."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.executors.claude.executor import ClaudeExecutor
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.conformance import CHECKS, Make, Subject, run_check
from ostler.testing.fake_llm import FAULTS, Answer, FakeLlm, Request, fit, say
from real_claude import claude_environment, require_claude

pytestmark = pytest.mark.full


def remember(request: Request) -> Answer:
    """A model that returns what the conversation contains."""
    if shaped := fit(request, sure=True):
        return shaped
    requested = "Which word" in " ".join(request.history[-3:])
    observed = (*request.history, str(request.body["system"]))
    reported = any("Remember the word osprey" in text for text in observed)
    return say("osprey" if requested and reported else "OK")


def make(llm: FakeLlm, command: str = "") -> Make:
    settings = ExecutorSettings(command=command or require_claude(), env={"ANTHROPIC_BASE_URL": llm.url})
    return lambda: ClaudeExecutor("claude", settings, DefaultCommandRunner())


@pytest.mark.parametrize("check", CHECKS)
def test_the_real_claude_conforms(check: str, tmp_path: Path) -> None:
    """The real program passes the checks that the fake passes."""
    with FakeLlm(remember) as good, FakeLlm([FAULTS["d7_silence"]]) as silent, FakeLlm([Answer()]) as empty:
        subject = Subject(
            make=make(good),
            make_missing=make(good, "/nowhere/claude"),
            make_hanging=make(silent),
            make_empty=make(empty),
            env=claude_environment(good, tmp_path),
        )
        asyncio.run(run_check(check, subject, tmp_path / "bench"))
