"""Seed 003, sections 2.2, 4.1, 14, 15 and 17: the clients, with a local server, and the sleep."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from ostler.compat import (
    AnthropicClaudeClient,
    ExecutionError,
    ExecutionErrorCode,
    MockClaudeClient,
    ModelError,
    cancellable_sleep,
)
from ostler.errors import Code
from ostler.llm.client import (
    DEFAULT_MODEL_MAP,
    ClaudeClient,
    ClaudeClientConfig,
    ClaudeRequest,
    ClaudeResponse,
)
from ostler.model.usage import Usage
from ostler.testing.fake_llm import Answer, FakeLlm, Turn, fail, say

ASKED = ClaudeRequest("You are brief.", "Hello?", "claude-test", 100)
E = ExecutionErrorCode


def ask(client: ClaudeClient, request: ClaudeRequest = ASKED) -> ClaudeResponse:
    return asyncio.run(client.complete(request))


def refusal(client: ClaudeClient, request: ClaudeRequest = ASKED) -> ExecutionError:
    with pytest.raises(ExecutionError) as caught:
        ask(client, request)
    return caught.value


def anthropic(llm: FakeLlm) -> AnthropicClaudeClient:
    return AnthropicClaudeClient(ClaudeClientConfig("sk-test", llm.url))


# AnthropicClaudeClient


if {"ANTHROPIC_API_KEY", "OSTLER_FULL"} <= {*os.environ}:  # it costs money

    def test_anthropic_completes_a_trivial_prompt_for_real() -> None:
        """The test of the seed with the real API."""
        client = AnthropicClaudeClient(ClaudeClientConfig(os.environ["ANTHROPIC_API_KEY"]))
        response = ask(client, ClaudeRequest("Be brief.", "Say OK.", DEFAULT_MODEL_MAP["haiku"], 50))
        assert response.content and response.usage.total > 0 and response.stop_reason == "end_turn"


def test_anthropic_response_shape() -> None:
    """The real SDK with a local server: text, usage, stop reason, and the request."""
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
    """Section 14.3: one request for each row, because the retries of the SDK are off."""
    with FakeLlm([turn]) as llm:
        error = refusal(anthropic(llm))
    assert (error.code, error.task_id, len(llm.requests)) == (named, "", 1)
    assert isinstance(error.cause, ModelError) and error.cause.code is code


def test_anthropic_joins_text_blocks_and_maps_stop_reasons() -> None:
    """Section 14.2: blocks of other types are skipped; an unknown reason is end_turn."""
    blocks = ({"type": "text", "text": "One."}, {"type": "hologram"}, {"type": "text", "text": "Two."})
    reasons = {"max_tokens": "max_tokens", "stop_sequence": "stop_sequence", "sunset": "end_turn"}
    for sent, mapped in reasons.items():
        with FakeLlm([Answer(say="Three.", blocks=blocks, stop=sent)]) as llm:
            response = ask(anthropic(llm))
        assert (response.content, response.stop_reason) == ("One.\n\nTwo.\n\nThree.", mapped)


def test_anthropic_uses_the_default_maximum_of_its_config() -> None:
    """max_tokens of the request, else defaultMaxTokens."""
    with FakeLlm([say("Hello.")]) as llm:
        client = AnthropicClaudeClient(ClaudeClientConfig("sk-test", llm.url, 77))
        ask(client, ClaudeRequest("", "Hello?", "m"))
    assert llm.requests[0].body["max_tokens"] == 77


def test_anthropic_connection_error_is_a_timeout() -> None:
    """No server listens at the address."""
    with FakeLlm([]) as llm:
        client = anthropic(llm)
    assert refusal(client).code is E.API_TIMEOUT


def test_anthropic_already_aborted_sends_nothing() -> None:
    """ABORTED before a connection is made."""
    abort = asyncio.Event()
    abort.set()
    with FakeLlm([say("Hello.")]) as llm:
        error = refusal(anthropic(llm), ClaudeRequest("", "Hello?", "m", signal=abort))
    assert (error.code, len(llm.requests)) == (E.ABORTED, 0)


# MockClaudeClient


def test_mock_returns_configured_response() -> None:
    """The response is the configured value."""
    configured = ClaudeResponse("Yes.", 1, 2, "stop_sequence")
    assert ask(MockClaudeClient(lambda request: configured)) is configured


def test_mock_records_call_history() -> None:
    """Each request is recorded."""
    mock = MockClaudeClient()
    ask(mock)
    assert mock.calls == [ASKED]


def test_mock_default_response_when_no_generator_provided() -> None:
    """The default response has 100 and 200 tokens."""
    assert ask(MockClaudeClient()) == ClaudeResponse("Mock output for task", 100, 200, "end_turn")


def test_mock_custom_response_generator_works() -> None:
    """The response may depend on the request."""
    mock = MockClaudeClient(lambda request: ClaudeResponse(request.user_message.upper(), 1, 1, "end_turn"))
    assert ask(mock).content == "HELLO?"


def test_mock_set_error_makes_next_call_throw() -> None:
    """Only the next call fails."""
    mock = MockClaudeClient()
    mock.set_error(ExecutionError("busy", E.API_OVERLOADED))
    assert refusal(mock).code is E.API_OVERLOADED
    assert ask(mock).content


def test_mock_clear_error_and_an_error_that_stays() -> None:
    """clear_error() ends it; one_shot=False repeats it."""
    mock = MockClaudeClient()
    mock.set_error(ValueError("any error"), one_shot=False)
    for _ in range(2):
        with pytest.raises(ValueError, match="any error"):
            ask(mock)
    mock.clear_error()
    assert ask(mock).stop_reason == "end_turn"


def test_mock_set_delay_adds_artificial_latency() -> None:
    """A call takes at least the delay."""
    mock = MockClaudeClient()
    mock.set_delay(100)
    began = time.monotonic()
    ask(mock)
    assert time.monotonic() - began >= 0.1


def test_mock_respects_abort_during_delay() -> None:
    """An abort ends the delay, and the call is not recorded."""
    mock = MockClaudeClient()
    mock.set_delay(600000)

    async def scene() -> None:
        abort = asyncio.Event()
        asyncio.get_running_loop().call_later(0.02, abort.set)
        await mock.complete(ClaudeRequest("", "", "m", signal=abort))

    with pytest.raises(ExecutionError) as caught:
        asyncio.run(asyncio.wait_for(scene(), 60))
    assert (caught.value.code, mock.calls) == (E.ABORTED, [])


def test_mock_abort_already_set_is_immediate_rejection() -> None:
    """The call is not recorded."""
    abort = asyncio.Event()
    abort.set()
    mock = MockClaudeClient()
    assert refusal(mock, ClaudeRequest("", "", "m", signal=abort)).code is E.ABORTED
    assert mock.calls == []


def test_mock_multiple_calls_accumulate_in_history() -> None:
    """Calls are recorded in order."""
    mock = MockClaudeClient()
    requested = [ClaudeRequest("", f"Question {number}", "m") for number in range(3)]
    for request in requested:
        ask(mock, request)
    assert mock.calls == requested


# cancellableSleep (section 17)


def test_sleep_takes_milliseconds() -> None:
    """It ends after the time, with or without a signal."""
    began = time.monotonic()
    asyncio.run(cancellable_sleep(50))
    asyncio.run(cancellable_sleep(50, asyncio.Event()))
    assert 0.1 <= time.monotonic() - began < 30


@pytest.mark.parametrize("delay", [None, 0.01])
def test_sleep_ends_with_the_signal(delay: float | None) -> None:
    """Set before or during the sleep: ExecutionError with ABORTED, at once."""

    async def scene() -> None:
        signal = asyncio.Event()
        if delay is None:
            signal.set()
        else:
            asyncio.get_running_loop().call_later(delay, signal.set)
        await asyncio.wait_for(cancellable_sleep(3_600_000, signal), 60)

    with pytest.raises(ExecutionError) as caught:
        asyncio.run(scene())
    assert caught.value.code is E.ABORTED


# Types of section 1.1


def test_config_defaults_and_a_key_that_is_never_printed() -> None:
    """apiKey, baseUrl?, defaultMaxTokens 4096."""
    config = ClaudeClientConfig("sk-secret")
    assert (config.base_url, config.default_max_tokens) == ("", 4096) and "secret" not in repr(config)
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY"):
        AnthropicClaudeClient(ClaudeClientConfig(""))


def test_fields_of_request_and_response() -> None:
    """The names and the order of the seed."""
    fields = ("system_prompt", "user_message", "model", "max_tokens", "signal")
    assert ClaudeRequest.__struct_fields__[:5] == fields
    fields = ("content", "input_tokens", "output_tokens", "stop_reason")
    assert ClaudeResponse.__struct_fields__[:4] == fields
