"""The system text where an agent has no place apart for it, and where it has one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.executors.claude import ClaudeExecutor
from ostler.executors.codex import CodexExecutor
from ostler.executors.opening import opening
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
def test_the_system_text_stands_in_front(system: str, prompt: str) -> None:
    """Once, apart from the prompt; a blank one leaves the prompt as it is."""
    opened = opening(AgentCall("i", "Write it.", system=system))
    assert opened.prompt == prompt
    assert opening(opened).prompt == prompt


class Reader(MockCommandRunner):
    """Reads the file that the arguments name, which may be gone after the call."""

    def __init__(self, *exits: Exit) -> None:
        super().__init__(run_function=self.read)
        self.exits = [*exits]
        self.read_texts: list[str] = []

    async def read(self, command: Command, sink: Sink) -> Exit:
        given = dict(zip(command.argv, command.argv[1:], strict=False))
        self.read_texts.append(Path(given[FLAG]).read_text() if FLAG in given else "")
        return self.exits.pop(0) if self.exits else Exit(0, 0.1)


def program(place: Path) -> str:
    path = place / "program"
    path.touch(0o755)
    return str(path)


@pytest.mark.parametrize("kept", [True, False])
def test_claude_reads_it_from_a_file(kept: bool, tmp_path: Path) -> None:
    """Never an argument: it may be long, and everyone may see the arguments of a program."""
    runner = Reader()
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program(tmp_path)), runner)
    call = AgentCall(
        "i", "p", "s-1", system="You are a poet. é", transcript=str(tmp_path / "t") if kept else ""
    )
    asyncio.run(executor.spawn(call, lambda _: None))
    assert runner.read_texts == [call.system]
    assert (runner.last.stdin, call.system in runner.last.argv) == (b"p", False)
    assert (tmp_path / "t.system.md").exists() is kept


def test_claude_is_told_again_when_its_session_is_lost(tmp_path: Path) -> None:
    """And on resume, where versions that keep the first text do not mind."""
    runner = Reader(NOT_FOUND)
    executor = ClaudeExecutor("claude", ExecutorSettings(command=program(tmp_path)), runner)
    asyncio.run(executor.resume(CALL, lambda _: None))
    assert runner.read_texts == [CALL.system, CALL.system]


@pytest.mark.parametrize("own", ["--append-system-prompt=mine", FLAG])
def test_a_text_of_the_settings_keeps_its_place(own: str, tmp_path: Path) -> None:
    """Claude takes one such text and no second: the other goes in front of the prompt."""
    runner = MockCommandRunner()
    settings = ExecutorSettings(command=program(tmp_path), args=(own,))
    asyncio.run(ClaudeExecutor("claude", settings, runner).spawn(CALL, lambda _: None))
    assert [word for word in runner.last.argv if word.startswith("--append")] == [own]
    assert runner.last.stdin == b"You are a poet.\n\n---\n\nWrite it."


def test_a_session_that_knows_it_is_not_told_again(tmp_path: Path) -> None:
    """Where it is part of the first prompt, the next one goes alone; a session begun again hears it."""
    runner = MockCommandRunner()
    executor = CodexExecutor("codex", ExecutorSettings(command=program(tmp_path)), runner)
    for verb in (executor.spawn, executor.resume):
        asyncio.run(verb(CALL, lambda _: None))
    assert [command.stdin for command in runner.commands] == [opening(CALL).prompt.encode(), b"Write it."]
