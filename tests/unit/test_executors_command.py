"""Any program as an agent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.command import CommandExecutor
from ostler.model.call import AgentCall, AgentEvent, CallResult
from ostler.model.command import Command, Exit, Sink, Stopped
from ostler.process.runner import DefaultCommandRunner
from ostler.testing.mocks import MockCommandRunner


def run_shell(script: str, tmp_path: Path, *args: str, prompt: str = "the prompt") -> CallResult:
    settings = ExecutorSettings(command="sh", args=("-c", script, *args))
    executor = CommandExecutor("mine", settings, DefaultCommandRunner())
    places = {"cwd": str(tmp_path), "transcript": str(tmp_path / "transcript")}
    call = AgentCall("i", prompt, "s-1", env={"PATH": "/usr/bin:/bin"}, **places)
    return asyncio.run(executor.spawn(call, lambda _: None))


def test_prompt_goes_to_stdin(tmp_path: Path) -> None:
    """Without {prompt_file} the program reads the prompt, and what it prints is the answer."""
    assert run_shell("tr a-z A-Z", tmp_path).text == "THE PROMPT"


def test_prompt_file_is_private_and_whole(tmp_path: Path) -> None:
    """With {prompt_file} the prompt is a file beside the transcript that only we can read."""
    result = run_shell('cat "$1"; stat -c " %a" "$1"; cat', tmp_path, "x", "{prompt_file}")
    assert result.text == "the prompt 600"
    assert (tmp_path / "transcript.prompt").read_text() == "the prompt"


def test_prompt_file_without_a_transcript_is_removed() -> None:
    """A call that keeps nothing leaves no prompt behind."""
    seen: list[str] = []

    async def look(command: Command, sink: Sink) -> Exit:
        seen.extend((command.argv[1], Path(command.argv[1]).read_text()))
        return Exit(0, 0.0)

    settings = ExecutorSettings(command="true", args=("{prompt_file}",))
    executor = CommandExecutor("mine", settings, MockCommandRunner(run_function=look))
    assert asyncio.run(executor.spawn(AgentCall("i", "secret"), lambda _: None)).ok
    assert seen[1] == "secret"
    assert not Path(seen[0]).exists()


def test_places_are_filled_once(tmp_path: Path) -> None:
    """Known names are filled, other braces stay, and what was filled in is not searched again."""
    runner = MockCommandRunner()
    settings = ExecutorSettings(command="true", args=("--m={model}", "{session_id}", '{"a": {}}', "{x}"))
    call = AgentCall("i", "p", "{model}", model="m-1")
    asyncio.run(CommandExecutor("mine", settings, runner).spawn(call, lambda _: None))
    assert runner.last.argv[1:] == ("--m=m-1", "{model}", '{"a": {}}', "{x}")


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("true", None),
        ("exit 3", Code.AGENT_FAILED),
        ("exit 127", Code.AGENT_NOT_FOUND),
        ("kill -9 $$", Code.AGENT_KILLED),
        ("echo 'HTTP 429 Too Many Requests' >&2; exit 1", Code.RATE_LIMITED),
        ("echo 'Rate limit reached'; exit 1", Code.RATE_LIMITED),
        ("echo 'RESOURCE_EXHAUSTED'; exit 1", Code.RATE_LIMITED),
        ("echo 'status code: 429'; exit 1", Code.RATE_LIMITED),
        ("echo 'line 429 failed'; exit 1", Code.AGENT_FAILED),
        ("echo 'rate limit, 429'", None),
    ],
)
def test_exit_code_decides(script: str, code: Code | None, tmp_path: Path) -> None:
    """Exit 0 is success even in silence; a limit is believed only from a failed program (C36)."""
    result = run_shell(script, tmp_path)
    assert result.code is code, result.message


def test_stop_is_never_success() -> None:
    """A program without results that had to be stopped has not succeeded."""
    runner = MockCommandRunner([b"half"], Exit(0, 1.0, Stopped.TIMEOUT))
    executor = CommandExecutor("mine", ExecutorSettings(command="true"), runner)
    result = asyncio.run(executor.spawn(AgentCall("i", "p"), lambda _: None))
    assert (result.code, result.text) == (Code.TIMEOUT, "")


def test_only_the_end_of_the_output_is_kept() -> None:
    """A program may print for hours; its last 64 KiB are its final text, and every line is heard."""
    events: list[AgentEvent] = []
    runner = MockCommandRunner([b"x" * 999 for _ in range(500)] + [b"the end"])
    executor = CommandExecutor("mine", ExecutorSettings(command="true"), runner)
    result = asyncio.run(executor.spawn(AgentCall("i", "p"), events.append))
    assert len(result.text) <= 64 * 1024
    assert result.text.endswith("the end")
    assert len(events) == 502


def test_program_without_sessions_cannot_resume() -> None:
    """Resume without {session_id} is refused before anything starts, with the setting to change."""
    runner = MockCommandRunner()
    executor = CommandExecutor("mine", ExecutorSettings(command="true"), runner)
    result = asyncio.run(executor.resume(AgentCall("i", "p", "s"), lambda _: None))
    assert result.code is Code.RESUME_UNSUPPORTED
    assert "executors.mine.args" in result.message
    assert runner.commands == []
