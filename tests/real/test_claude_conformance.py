"""The real claude keeps every promise that its executor makes for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.executors.claude import ClaudeExecutor
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.conformance import CHECKS, Make, Subject, run_check
from ostler.testing.fake_llm import FAULTS, Answer, FakeLlm, Request, fit, say
from real_claude import claude_environment, require_claude


def remember(request: Request) -> Answer:
    """A model that knows what it was told, and nothing else."""
    if shaped := fit(request, sure=True):
        return shaped
    asked = "Which word" in " ".join(request.history[-3:])
    heard = (*request.history, str(request.body["system"]))
    told = any("Remember the word osprey" in text for text in heard)
    return say("osprey" if asked and told else "OK")


def make(llm: FakeLlm, command: str = "") -> Make:
    settings = ExecutorSettings(command=command or require_claude(), env={"ANTHROPIC_BASE_URL": llm.url})
    return lambda: ClaudeExecutor("claude", settings, DefaultCommandRunner())


@pytest.mark.parametrize("check", CHECKS)
def test_the_real_claude_conforms(check: str, tmp_path: Path) -> None:
    """What holds for the fake holds for the program that it stands for."""
    with FakeLlm(remember) as good, FakeLlm([FAULTS["d7_silence"]]) as silent, FakeLlm([Answer()]) as empty:
        subject = Subject(
            make=make(good),
            make_missing=make(good, "/nowhere/claude"),
            make_hanging=make(silent),
            make_empty=make(empty),
            env=claude_environment(good, tmp_path),
        )
        asyncio.run(run_check(check, subject, tmp_path / "bench"))
