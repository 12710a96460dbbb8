"""The shipped test doubles."""

from __future__ import annotations

import asyncio

import pytest

from ostler.errors import AgentUnavailable, Code
from ostler.executors.protocol import Executor
from ostler.llm.client import ClaudeClient, ClaudeRequest, ClaudeResponse
from ostler.llm.failure import ModelError
from ostler.model.call import AgentCall, CallResult, OnEvent, TextReceived
from ostler.model.command import Command, Exit
from ostler.process.protocol import CommandRunner
from ostler.testing.mocks import MockClaudeClient, MockCommandRunner, MockExecutor

CALL = AgentCall("implementer", "p", "s-1", model="m-1")


def test_executor_succeeds_by_default() -> None:
    """Without functions a mock executor completes every call and records it (C9)."""
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
        on_event(TextReceived("trying"))
        return CallResult(Code.OVERLOADED)

    def missing() -> None:
        raise AgentUnavailable("not here", "install it")

    mock = MockExecutor(spawn_function=fail, validate_function=missing)
    received: list[object] = []
    assert asyncio.run(mock.spawn(CALL, received.append)).code is Code.OVERLOADED
    assert received == [TextReceived("trying")]
    assert asyncio.run(mock.resume(CALL, received.append)).ok
    with pytest.raises(AgentUnavailable):
        mock.validate_availability()


def test_runner_plays_lines_and_keeps_the_command() -> None:
    """A mock runner passes on its lines, returns its exit and records the command."""
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
    assert (mock.last_name, mock.last_args, mock.last_stdin) == ("agent", ["--x"], "prompt")


ASKED = ClaudeRequest("You are brief.", "Hello?", "m-1")


def test_client_answers_and_keeps_what_it_was_asked() -> None:
    """Without a generator every request has the same answer, with 100 and 200 tokens (C9)."""
    mock = MockClaudeClient()
    client: ClaudeClient = mock
    response = asyncio.run(client.complete(ASKED))
    assert response == ClaudeResponse("Mock output for task", 100, 200, "end_turn")
    assert mock.calls == [ASKED]


def test_client_uses_its_generator() -> None:
    """The answer may depend on the request."""
    mock = MockClaudeClient(lambda request: ClaudeResponse(request.user_message, 1, 1, "max_tokens"))
    assert asyncio.run(mock.complete(ASKED)).content == "Hello?"


def test_client_fails_once_or_until_it_is_reset() -> None:
    """An error is for the next call only by default; failed calls are recorded too."""
    mock = MockClaudeClient()
    mock.set_error(ModelError(Code.OVERLOADED, "busy"))
    with pytest.raises(ModelError, match="busy"):
        asyncio.run(mock.complete(ASKED))
    asyncio.run(mock.complete(ASKED))
    mock.set_error(ModelError(Code.OVERLOADED, "busy"), one_shot=False)
    for _ in range(2):
        with pytest.raises(ModelError, match="busy"):
            asyncio.run(mock.complete(ASKED))
    mock.clear_error()
    asyncio.run(mock.complete(ASKED))
    assert len(mock.calls) == 5


@pytest.mark.parametrize("delay", [0.0, 60_000.0])
def test_client_stops_for_an_abort(delay: float) -> None:
    """Set before the call or during its delay: ABORTED, and the call is not recorded."""

    async def abort() -> None:
        event = asyncio.Event()
        if delay:
            asyncio.get_running_loop().call_later(0.02, event.set)
        else:
            event.set()
        await mock.complete(ClaudeRequest("", "", "m", signal=event))

    mock = MockClaudeClient()
    mock.set_delay(delay)
    with pytest.raises(ModelError) as caught:
        asyncio.run(abort())
    assert caught.value.code is Code.ABORTED
    assert mock.calls == []
