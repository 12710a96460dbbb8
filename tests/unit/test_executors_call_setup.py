"""The system prompt for agents with and without a flag for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from fresh_prompts import fresh
from ostler.config.settings import ExecutorSettings
from ostler.executors.call_setup import prepend_system_prompt
from ostler.executors.claude.executor import ClaudeExecutor
from ostler.executors.codex import CodexExecutor
from ostler.model.call import AgentCall
from ostler.model.command import Command, Exit, Sink
from ostler.testing.mocks import MockCommandRunner

CALL = AgentCall("i", "Write it.", "s-1", system="You are a poet.\n")
NOT_FOUND = Exit(1, 0.1, stderr_tail="No conversation found with session ID: s-1")
FLAG = "--append-system-prompt-file"


@pytest.mark.parametrize(
    ("system", "prompt"),
    [
        ("", "Write it."),
        (" \n", "Write it."),
        ("You are a poet.\n", "You are a poet.\n\n---\n\nWrite it."),
        ("/poet", "/poet\n\n---\n\nWrite it."),
    ],
)
def test_the_system_text_precedes_the_prompt(system: str, prompt: str) -> None:
    """The system prompt precedes the prompt once; a blank one changes nothing."""
    opened = prepend_system_prompt(AgentCall("i", "Write it.", system=system))
    assert opened.prompt == prompt
    assert prepend_system_prompt(opened).prompt == prompt


class Reader(MockCommandRunner):
    """Reads the file that the arguments name, which may be removed after the call."""

    def __init__(self, *exits: Exit) -> None:
        super().__init__(run_function=self.read)
        self.exits = [*exits]
        self.read_texts: list[str] = []

    async def read(self, command: Command, sink: Sink) -> Exit:
        provided = dict(zip(command.argv, command.argv[1:], strict=False))
        self.read_texts.append(Path(provided[FLAG]).read_text() if FLAG in provided else "")
        return self.exits.pop(0) if self.exits else Exit(0, 0.1)


def program(directory: Path) -> str:
    path = directory / "program"
    path.touch(0o755)
    return str(path)


@pytest.mark.parametrize("kept", [True, False])
def test_claude_reads_it_from_a_file(kept: bool, tmp_path: Path) -> None:
    """The system prompt is not an argument: it may be long, and arguments are visible to all users."""
    runner = Reader()
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program(tmp_path)), runner)
    call = AgentCall(
        "i", "p", "s-1", system="You are a poet. é", transcript=str(tmp_path / "t") if kept else ""
    )
    asyncio.run(executor.spawn(call, lambda _: None))
    assert runner.read_texts == [call.system]
    assert (runner.last.stdin, call.system in runner.last.argv) == (b"p", False)
    assert (tmp_path / "t.system.md").exists() is kept


def test_claude_gets_the_system_prompt_again_when_its_session_is_lost(tmp_path: Path) -> None:
    """The system prompt is passed to a new session, and on resume."""
    runner = Reader(NOT_FOUND)
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program(tmp_path)), runner)
    asyncio.run(executor.resume(replace(CALL, fresh_prompt=fresh("From the start.")), lambda _: None))
    assert runner.read_texts == [CALL.system, CALL.system]


@pytest.mark.parametrize("own", ["--append-system-prompt=mine", FLAG])
def test_a_text_of_the_settings_keeps_its_place(own: str, tmp_path: Path) -> None:
    """With a system prompt in the args of the settings, that of the call precedes the prompt."""
    runner = MockCommandRunner()
    settings = ExecutorSettings(command=program(tmp_path), args=(own,))
    asyncio.run(ClaudeExecutor("claude", settings, runner).spawn(CALL, lambda _: None))
    assert [arg for arg in runner.last.argv if arg.startswith("--append")] == [own]
    assert runner.last.stdin == b"You are a poet.\n\n---\n\nWrite it."


def test_a_resumed_session_gets_no_system_prompt(tmp_path: Path) -> None:
    """A resumed session does not get the system prompt again; a replaced one does."""
    runner = MockCommandRunner()
    executor = CodexExecutor("codex", ExecutorSettings(command=program(tmp_path)), runner)
    for verb in (executor.spawn, executor.resume):
        asyncio.run(verb(CALL, lambda _: None))
    assert [command.stdin for command in runner.commands] == [
        prepend_system_prompt(CALL).prompt.encode(),
        b"Write it.",
    ]
