"""The clients: the seed's own list of cases (seed 003, section 4.1), the real one on the loopback."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from ostler.errors import Code
from ostler.llm.anthropic import AnthropicClaudeClient
from ostler.llm.client import (
    DEFAULT_MODEL_MAP,
    ClaudeClient,
    ClaudeClientConfig,
    ClaudeRequest,
    ClaudeResponse,
)
from ostler.llm.failure import ModelError
from ostler.model.usage import Usage
from ostler.project.execution import ExecutionErrorCode, seed_code
from ostler.testing.fake_llm import FakeLlm, Turn, fail, say
from ostler.testing.mocks import MockClaudeClient

ASKED = ClaudeRequest("You are brief.", "Hello?", "claude-test", 100)
E = ExecutionErrorCode


def ask(client: ClaudeClient, request: ClaudeRequest = ASKED) -> ClaudeResponse:
    return asyncio.run(client.complete(request))


def refusal(client: ClaudeClient, request: ClaudeRequest = ASKED) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(client, request)
    return caught.value


def anthropic(llm: FakeLlm) -> AnthropicClaudeClient:
    return AnthropicClaudeClient(ClaudeClientConfig("sk-test", llm.url))


# AnthropicClaudeClient


if {"ANTHROPIC_API_KEY", "OSTLER_FULL"} <= {*os.environ}:  # it costs money

    def test_anthropic_completes_a_trivial_prompt_for_real() -> None:
        """The seed's one test against the real API."""
        client = AnthropicClaudeClient(ClaudeClientConfig(os.environ["ANTHROPIC_API_KEY"]))
        response = ask(client, ClaudeRequest("Be brief.", "Say OK.", DEFAULT_MODEL_MAP["haiku"], 50))
        assert response.content and response.usage.total > 0 and response.stop_reason == "end_turn"


def test_anthropic_response_shape() -> None:
    """The same through the real SDK on the loopback: text, tokens, stop reason; and what was sent."""
    with FakeLlm([say("Hello.", usage=Usage(12, 3))]) as llm:
        response = ask(anthropic(llm))
    shape = (response.content, response.input_tokens, response.output_tokens, response.stop_reason)
    assert shape == ("Hello.", 12, 3, "end_turn")
    body = llm.requests[0].body
    assert (body["model"], body["max_tokens"], body["system"]) == ("claude-test", 100, "You are brief.")
    assert body["messages"] == [{"role": "user", "content": "Hello?"}]


@pytest.mark.parametrize(
    ("turn", "code", "named"),
    [
        (fail(429, "slow down"), Code.RATE_LIMITED, E.API_RATE_LIMITED),
        (fail(529, "overloaded"), Code.OVERLOADED, E.API_OVERLOADED),
        (fail(401, "invalid x-api-key"), Code.AUTH_FAILED, E.API_ERROR),
        (fail(403, "forbidden"), Code.AUTH_FAILED, E.API_ERROR),
        (fail(404, "model: none"), Code.MODEL_NOT_FOUND, E.API_ERROR),
        (fail(408, "timeout"), Code.TIMEOUT, E.API_TIMEOUT),
        (fail(500, "oops"), Code.API_ERROR, E.API_ERROR),
        (fail(503, "oops"), Code.API_ERROR, E.API_ERROR),
        (fail(422, "what?"), Code.API_ERROR, E.API_ERROR),
        (say(""), Code.RESPONSE_EMPTY, E.RESPONSE_EMPTY),
    ],
)
def test_anthropic_error_mapping(turn: Turn, code: Code, named: ExecutionErrorCode) -> None:
    """Section 14.3, row by row: one request each, as the SDK's own retries are off."""
    with FakeLlm([turn]) as llm:
        error = refusal(anthropic(llm))
    assert (error.code, seed_code(error.code), len(llm.requests)) == (code, named, 1)


def test_anthropic_connection_error_is_a_timeout() -> None:
    """Nobody listens at that address."""
    with FakeLlm([]) as llm:
        client = anthropic(llm)
    assert seed_code(refusal(client).code) is E.API_TIMEOUT


def test_anthropic_already_aborted_calls_nobody() -> None:
    """ABORTED, before a connection is made."""
    abort = asyncio.Event()
    abort.set()
    with FakeLlm([say("Hello.")]) as llm:
        error = refusal(anthropic(llm), ClaudeRequest("", "Hello?", "m", abort=abort))
    assert (error.code, len(llm.requests)) == (Code.ABORTED, 0)


# MockClaudeClient


def test_mock_returns_configured_response() -> None:
    """The very same value."""
    configured = ClaudeResponse("Yes.", 1, 2, "stop_sequence")
    assert ask(MockClaudeClient(lambda request: configured)) is configured


def test_mock_records_call_history() -> None:
    """Each request as it came."""
    mock = MockClaudeClient()
    ask(mock)
    assert mock.calls == [ASKED]


def test_mock_default_response_when_no_generator_provided() -> None:
    """With 100 and 200 tokens."""
    assert ask(MockClaudeClient()) == ClaudeResponse("Mock output for task", 100, 200, "end_turn")


def test_mock_custom_response_generator_works() -> None:
    """The answer may depend on the request."""
    mock = MockClaudeClient(lambda request: ClaudeResponse(request.user_message.upper(), 1, 1, "end_turn"))
    assert ask(mock).content == "HELLO?"


def test_mock_set_error_makes_next_call_throw() -> None:
    """The next one only."""
    mock = MockClaudeClient()
    mock.set_error(ModelError(Code.OVERLOADED, "busy"))
    assert refusal(mock).code is Code.OVERLOADED
    assert ask(mock).content


def test_mock_set_delay_adds_artificial_latency() -> None:
    """Not less than what was set."""
    mock = MockClaudeClient()
    mock.set_delay(0.1)
    began = time.monotonic()
    ask(mock)
    assert time.monotonic() - began >= 0.1


def test_mock_respects_abort_during_delay() -> None:
    """It ends long before the delay does, and does not count as a call."""
    mock = MockClaudeClient()
    mock.set_delay(600.0)

    async def scene() -> None:
        abort = asyncio.Event()
        asyncio.get_running_loop().call_later(0.02, abort.set)
        await mock.complete(ClaudeRequest("", "", "m", abort=abort))

    with pytest.raises(ModelError) as caught:
        asyncio.run(asyncio.wait_for(scene(), 60))
    assert (caught.value.code, mock.calls) == (Code.ABORTED, [])


def test_mock_abort_already_set_is_immediate_rejection() -> None:
    """And it does not count as a call."""
    abort = asyncio.Event()
    abort.set()
    mock = MockClaudeClient()
    assert refusal(mock, ClaudeRequest("", "", "m", abort=abort)).code is Code.ABORTED
    assert mock.calls == []


def test_mock_multiple_calls_accumulate_in_history() -> None:
    """In their order."""
    mock = MockClaudeClient()
    asked = [ClaudeRequest("", f"Question {number}", "m") for number in range(3)]
    for request in asked:
        ask(mock, request)
    assert mock.calls == asked
