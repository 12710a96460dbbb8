"""Agents that are a line in a table."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code, OstlerError
from ostler.executors.presets import PRESETS
from ostler.executors.registry import ExecutorRegistry
from ostler.model.call import AgentCall
from ostler.testing.mocks import MockCommandRunner


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A program that exists; the mock runner never starts it."""
    path = tmp_path / "agent"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("kind", PRESETS)
@pytest.mark.parametrize("model", ["", "m-1"])
def test_prompt_is_never_an_argument(kind: str, model: str, program: str) -> None:
    """The prompt goes to stdin or into a file, and a model that is not set leaves no empty flag."""
    runner = MockCommandRunner()
    settings = ExecutorSettings(command=program, permissions="skip")
    executor = ExecutorRegistry().make(kind, {kind: settings}, runner)
    asyncio.run(executor.spawn(AgentCall("i", "the prompt", model=model), lambda _: None))
    argv, stdin = runner.last.argv, runner.last.stdin
    assert not [word for word in argv if "the prompt" in word or "{" in word or word.endswith("=")]
    assert stdin == (b"" if "--file" in argv else b"the prompt")
    assert ("--model=m-1" in argv) == (bool(model) and kind != "amp")


@pytest.mark.parametrize("kind", [kind for kind, preset in PRESETS.items() if preset.approves_all])
def test_agent_that_asks_nobody_must_be_allowed_to(kind: str) -> None:
    """An agent whose headless mode approves everything is refused until the settings say skip (C22)."""
    runner = MockCommandRunner()
    executor = ExecutorRegistry().make(kind, {}, runner)
    with pytest.raises(OstlerError, match="unasked") as caught:
        executor.validate_availability()
    result = asyncio.run(executor.spawn(AgentCall("i", "p"), lambda _: None))
    assert (result.code, runner.commands) == (Code.SANDBOX_UNAVAILABLE, [])
    assert caught.value.code is Code.SANDBOX_UNAVAILABLE
    assert f"executors.{kind}.permissions" in caught.value.hint


def test_own_arguments_win(program: str) -> None:
    """What a person wrote replaces the table's arguments."""
    runner = MockCommandRunner()
    settings = {"mine": ExecutorSettings(type="droid", command=program, args=("exec", "--own"))}
    executor = ExecutorRegistry().make("mine", settings, runner)
    asyncio.run(executor.spawn(AgentCall("i", "p"), lambda _: None))
    assert runner.last.argv == (program, "exec", "--own")
