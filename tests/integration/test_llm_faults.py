"""The D rows of the fault matrix: both clients against a server with faults."""

from __future__ import annotations

import asyncio
import time

import pytest

from ostler.errors import Code
from ostler.llm.anthropic import AnthropicClaudeClient
from ostler.llm.client import ClaudeClient, ClaudeClientConfig, ClaudeRequest, Message
from ostler.llm.failure import ModelError
from ostler.llm.openai import OpenAIChatClient
from ostler.testing.fake_llm import FAULTS, FakeLlm, fail, say

KEY = "sk-test-0123456789"
PROVIDERS = ["anthropic", "openai"]

# What each fault is: its code, and the least that the provider asks us to wait.
EXPECTED: dict[str, tuple[Code | None, float | None]] = {
    "d1_seconds": (Code.RATE_LIMITED, 3600),
    "d1_date": (Code.RATE_LIMITED, 3500),
    "d1_zero": (Code.RATE_LIMITED, 0),
    "d1_negative": (Code.RATE_LIMITED, None),
    "d1_ten_days": (Code.RATE_LIMITED, 864000),
    "d1_garbage": (Code.RATE_LIMITED, None),
    "d2_no_header": (Code.RATE_LIMITED, None),
    "d2_spend_limit_429": (Code.BILLING, None),
    "d2_spend_limit_400": (Code.BILLING, None),
    "d2_credit": (Code.BILLING, None),
    "d2_payment": (Code.BILLING, None),
    "d3_529": (Code.OVERLOADED, None),
    "d3_503": (Code.API_ERROR, None),
    "d3_500": (Code.API_ERROR, None),
    "d3_502_html": (Code.API_ERROR, None),
    "d4_error_event": (Code.OVERLOADED, None),
    "d5_reset": (Code.STREAM_BROKEN, None),
    "d5_end": (Code.STREAM_BROKEN, None),
    "d5_truncated": (Code.STREAM_BROKEN, None),
    "d6_endless": (Code.NETWORK, None),
    "d6_pings": (Code.NETWORK, None),
    "d7_silence": (Code.NETWORK, None),
    "d8_401": (Code.AUTH_FAILED, None),
    "d8_403": (Code.AUTH_FAILED, None),
    "d9_404": (Code.MODEL_NOT_FOUND, None),
    "d10_max_tokens": (None, None),
    "d10_refusal": (Code.REFUSED, None),
    "d10_empty": (Code.RESPONSE_EMPTY, None),
    "d10_tool_only": (Code.RESPONSE_EMPTY, None),
    "d10_unknown_block": (None, None),
    "d11_413": (Code.PROMPT_TOO_LARGE, None),
    "d11_context": (Code.PROMPT_TOO_LARGE, None),
    "d12_huge": (Code.OUTPUT_LIMIT, None),
    "d12_bomb": (Code.API_ERROR, None),
}


def client(provider: str, url: str) -> ClaudeClient:
    if provider == "anthropic":
        return AnthropicClaudeClient(ClaudeClientConfig(KEY, url))
    return OpenAIChatClient(ClaudeClientConfig(KEY, f"{url}/v1"))


def request(idle: float = 60.0, total: float = 60.0, **more: object) -> ClaudeRequest:
    return ClaudeRequest(
        "Be brief.", "Hello?", "m-1", timeout_seconds=total, idle_timeout_seconds=idle, **more
    )


def test_every_fault_has_its_row() -> None:
    """Each fault of the server has a row here."""
    assert set(EXPECTED) == set(FAULTS)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", EXPECTED)
def test_a_fault_has_its_code(fault: str, provider: str) -> None:
    """For both providers: one request, one code, and a message without the key."""
    code, wait = EXPECTED[fault]
    asked = request(idle=2 if code is Code.NETWORK else 60)
    with FakeLlm([FAULTS[fault]]) as llm:
        try:
            asyncio.run(client(provider, llm.url).complete(asked))
            ended = None
        except ModelError as error:
            ended = error.code
            assert KEY not in error.message + error.partial
            seconds = error.retry_after_seconds
            assert seconds is None if wait is None else seconds is not None and wait <= seconds <= wait + 200
        assert ended is code
        assert len(llm.prompts) == 1, "the SDK's own retries would multiply ours"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_truncated_answer_is_an_answer(provider: str) -> None:
    """The stop reason is max_tokens, and the text is complete up to there."""
    with FakeLlm([FAULTS["d10_max_tokens"]]) as llm:
        response = asyncio.run(client(provider, llm.url).complete(request()))
    assert response.stop_reason == "max_tokens"
    assert response.content.startswith("The answer begins")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_request_has_the_conversation(provider: str) -> None:
    """The system prompt, the earlier messages and the prompt are sent in order; the usage is returned."""
    history = (Message("user", "first"), Message("assistant", "second"))
    with FakeLlm([say("Hi.")]) as llm:
        asked = request(history=history, max_tokens=77)
        response = asyncio.run(client(provider, llm.url).complete(asked))
        body = llm.prompts[0].body
    assert (response.content, response.input_tokens, response.output_tokens) == ("Hi.", 10, 5)
    assert (response.stop_reason, response.model) == ("end_turn", "m-1")
    reported = [turn["content"] for turn in body["messages"]]
    assert [body.get("system", reported[0]), *reported[-3:]] == ["Be brief.", "first", "second", "Hello?"]
    assert (body["max_tokens"], body["stream"], body["model"]) == (77, True, "m-1")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_total_deadline_ends_an_endless_answer(provider: str) -> None:
    """D6: the total timeout ends an answer that never becomes idle."""
    with FakeLlm([FAULTS["d6_pings"]]) as llm, pytest.raises(ModelError) as caught:
        asyncio.run(client(provider, llm.url).complete(request(total=0.5)))
    assert caught.value.code is Code.TIMEOUT


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", ["d7_silence", "d6_endless"])
def test_an_abort_ends_it_at_once(fault: str, provider: str) -> None:
    """C54: an abort before and during the answer is ABORTED, not a timeout."""

    async def abort_soon(url: str) -> None:
        abort = asyncio.Event()
        asyncio.get_running_loop().call_later(0.3, abort.set)
        await client(provider, url).complete(request(signal=abort))

    with FakeLlm([FAULTS[fault]]) as llm:
        begun = time.monotonic()
        with pytest.raises(ModelError) as caught:
            asyncio.run(abort_soon(llm.url))
    assert caught.value.code is Code.ABORTED
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_aborted_request_is_not_sent(provider: str) -> None:
    """C53: no request is sent when the event is already set."""

    async def make_abort_error(url: str) -> None:
        abort = asyncio.Event()
        abort.set()
        await client(provider, url).complete(request(signal=abort))

    with FakeLlm([say("Hi.")]) as llm:
        with pytest.raises(ModelError):
            asyncio.run(make_abort_error(llm.url))
        assert llm.requests == ()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_key_that_the_provider_repeats_is_hidden(provider: str) -> None:
    """D8: the error of a provider may contain the key."""
    refusal = fail(401, f"Incorrect API key provided: {KEY}.")
    with FakeLlm([refusal]) as llm, pytest.raises(ModelError) as caught:
        asyncio.run(client(provider, llm.url).complete(request()))
    assert caught.value.message == "127.0.0.1 answered 401: Incorrect API key provided: (key)."


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_proxy_of_the_environment_is_used(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy variables of the environment apply."""
    with FakeLlm([say("Hi.")]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        asyncio.run(client(provider, "http://api.example.invalid").complete(request()))
        assert proxy.prompts[0].path.startswith("http://api.example.invalid/v1/")


def test_one_client_serves_many_at_once() -> None:
    """The client has no state between calls, also not for a closed event loop."""
    with FakeLlm([say("Hi.")]) as llm:
        asked = client("anthropic", llm.url)

        async def many() -> set[str]:
            return {
                answer.content
                for answer in await asyncio.gather(*(asked.complete(request()) for _ in range(8)))
            }

        assert asyncio.run(many()) == {"Hi."}
        assert asyncio.run(many()) == {"Hi."}
        assert len(llm.prompts) == 16
