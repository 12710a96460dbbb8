"""The shipped test doubles."""

from __future__ import annotations

import asyncio

import pytest

from ostler.errors import AgentUnavailable, Code
from ostler.executors.protocol import Executor
from ostler.model.call import AgentCall, CallResult, OnEvent, TextSaid
from ostler.model.command import Command, Exit
from ostler.process.protocol import CommandRunner
from ostler.testing.mocks import MockCommandRunner, MockExecutor

CALL = AgentCall("implementer", "p", "s-1", model="m-1")


def test_executor_succeeds_by_default() -> None:
    """Without functions a mock executor completes every call and remembers it (C9)."""
    mock = MockExecutor()
    executor: Executor = mock
    executor.validate_availability()
    result = asyncio.run(executor.spawn(CALL, lambda _: None))
    assert result.ok
    assert result.session_id == "s-1"
    assert asyncio.run(executor.resume(CALL, lambda _: None)).ok
    assert mock.calls == [("spawn", CALL), ("resume", CALL)]


def test_executor_functions_are_used() -> None:
    """Each function field replaces one default."""

    async def fail(call: AgentCall, on_event: OnEvent) -> CallResult:
        on_event(TextSaid("trying"))
        return CallResult(Code.OVERLOADED)

    def missing() -> None:
        raise AgentUnavailable("not here", "install it")

    mock = MockExecutor(spawn_function=fail, validate_function=missing)
    heard: list[object] = []
    assert asyncio.run(mock.spawn(CALL, heard.append)).code is Code.OVERLOADED
    assert heard == [TextSaid("trying")]
    assert asyncio.run(mock.resume(CALL, heard.append)).ok
    with pytest.raises(AgentUnavailable):
        mock.validate_availability()


def test_runner_plays_lines_and_keeps_the_command() -> None:
    """A mock runner feeds the sink, returns its exit and shows what it was given."""
    mock = MockCommandRunner([b"a", b"b"], Exit(3, 0.5))
    runner: CommandRunner = mock
    lines: list[bytes] = []

    def sink(line: bytes) -> bool:
        lines.append(line)
        return False

    command = Command(("agent", "--x"), "/w", {"A": "1"}, b"prompt")
    assert asyncio.run(runner.run(command, sink)) == Exit(3, 0.5)
    assert lines == [b"a", b"b"]
    assert (mock.last.argv, mock.last.env, mock.last.stdin) == (("agent", "--x"), {"A": "1"}, b"prompt")
