"""A model API as an executor: the conformance suite, and its specific behaviour."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fresh_prompts import fresh
from ostler.config.settings import ExecutorSettings, Provider
from ostler.errors import AgentUnavailable, Code
from ostler.executors.model_api.executor import ModelApiExecutor
from ostler.llm.client import ClaudeRequest, ClaudeResponse
from ostler.model.call import AgentCall, AgentEvent, SessionReplaced, TextReceived, UsageReported
from ostler.model.usage import Usage
from ostler.testing.conformance import CHECKS, Subject, run_check
from ostler.testing.fake_llm import FAULTS, Answer, Failure, FakeLlm, Request, Silence, fail, fit, say
from ostler.testing.mocks import MockClaudeClient, MockCommandRunner

PROVIDERS: list[Provider] = ["anthropic", "openai"]
KEY = "sk-test-0123456789"


def remember(request: Request) -> Answer:
    """Return the word of an earlier message; this API sends every message again."""
    if shaped := fit(request, sure=True):
        return shaped
    reported = any("osprey" in text for text in (str(request.body.get("system")), *request.history[:-1]))
    return say("It was osprey." if reported else "OK")


def make(llm: FakeLlm, provider: Provider = "anthropic") -> ModelApiExecutor:
    name = provider.upper()
    url = llm.url if provider == "anthropic" else f"{llm.url}/v1"
    env = {f"{name}_API_KEY": KEY, f"{name}_BASE_URL": url}
    return ModelApiExecutor("model_api", ExecutorSettings(env=env, provider=provider), MockCommandRunner())


@pytest.fixture
def call(tmp_path: Path) -> AgentCall:
    return AgentCall("implementer", "Hello?", "s-1", model="m-1", transcript=str(tmp_path / "one.jsonl"))


@pytest.fixture
def llm() -> Iterator[FakeLlm]:
    with FakeLlm([remember]) as server:
        yield server


@pytest.mark.sampled(7)
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_it_conforms(provider: Provider, check: str, tmp_path: Path) -> None:
    """It passes every check that an agent program passes."""
    with FakeLlm([remember]) as good, FakeLlm([Silence(60)]) as hanging, FakeLlm([say("")]) as empty:
        subject = Subject(
            make=lambda: make(good, provider),
            make_hanging=lambda: make(hanging, provider),
            make_empty=lambda: make(empty, provider),
            starts_program=False,
            model="m-1",
        )
        asyncio.run(run_check(check, subject, tmp_path))


def test_the_raw_events_are_the_transcript(llm: FakeLlm, call: AgentCall) -> None:
    """The transcript has the lines of the provider; the text and the tokens are reported."""
    observed: list[AgentEvent] = []
    result = asyncio.run(make(llm).spawn(call, observed.append))
    lines = Path(call.transcript).read_bytes().splitlines()
    assert b"message_start" in lines[0]
    assert b"message_stop" in lines[-1]
    assert observed[1:] == [TextReceived("OK"), UsageReported(Usage(10, 5))]
    assert (result.text, result.usage, result.cost_usd, result.model) == ("OK", Usage(10, 5), None, "m-1")


def test_a_session_is_a_private_file(llm: FakeLlm, call: AgentCall, tmp_path: Path) -> None:
    """The stored messages are sent again on resume, and only the owner can read them."""
    executor = make(llm)
    asyncio.run(executor.spawn(replace(call, prompt="Remember osprey."), lambda _: None))
    result = asyncio.run(executor.resume(replace(call, prompt="Which word?"), lambda _: None))
    assert result.text == "It was osprey."
    assert llm.prompts[1].history == ["Remember osprey.", "OK", "Which word?"]
    stored = tmp_path / "s-1.turns.json"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert KEY.encode() not in stored.read_bytes() + Path(call.transcript).read_bytes()


@pytest.mark.parametrize("damage", [b"", b"{", b'[{"role":"user"}]', b"\xff"])
def test_a_damaged_session_is_replaced_and_reported(
    llm: FakeLlm, call: AgentCall, tmp_path: Path, damage: bytes
) -> None:
    """The new session gets the fresh prompt, and the replacement is reported."""
    (tmp_path / "s-1.turns.json").write_bytes(damage)
    observed: list[AgentEvent] = []
    again = replace(call, prompt="Go on.", fresh_prompt=fresh("The whole task."))
    assert asyncio.run(make(llm).resume(again, observed.append)).ok
    assert observed[0] == SessionReplaced("s-1", resumed=False)
    assert llm.prompts[0].history == ["The whole task."]


def test_a_lost_session_without_a_fresh_prompt_is_a_failure(llm: FakeLlm, call: AgentCall) -> None:
    """Nothing is sent to the model."""
    result = asyncio.run(make(llm).resume(replace(call, prompt="Go on."), lambda _: None))
    assert (result.code, llm.prompts) == (Code.SESSION_NOT_FOUND, ())


def test_a_failed_call_starts_no_session(call: AgentCall) -> None:
    """The next attempt starts the session; the failure is in the transcript."""
    with FakeLlm([FAULTS["d1_seconds"]]) as server:
        result = asyncio.run(make(server).spawn(call, lambda _: None))
    assert (result.code, result.session_id, result.retry_after_seconds) == (Code.RATE_LIMITED, "", 3600)
    assert b"RATE_LIMITED" in Path(call.transcript).read_bytes()


@pytest.mark.parametrize(
    ("provider", "refusal"),
    [
        ("anthropic", "output_config.format: structured outputs are not supported by this model"),
        ("openai", "'response_format' of type 'json_schema' is not supported with this model"),
    ],
)
def test_an_api_without_schemas_is_called_without_one(
    call: AgentCall, provider: Provider, refusal: str
) -> None:
    """After a rejected schema the request is sent without one."""

    def refuse(request: Request) -> Answer | Failure:
        return fail(400, refusal) if fit(request) else say("done")

    with FakeLlm([refuse]) as server:
        shaped = replace(call, schema='{"type": "object", "properties": {}}')
        result = asyncio.run(make(server, provider).spawn(shaped, lambda _: None))
        assert (result.code, result.text, len(server.prompts)) == (None, "done", 2)


def test_another_refusal_of_a_schema_is_not_repeated(call: AgentCall) -> None:
    """An error that is not about the schema is the result."""
    with FakeLlm([fail(400, "messages: roles must alternate")]) as server:
        result = asyncio.run(make(server).spawn(replace(call, schema='{"type": "object"}'), lambda _: None))
        assert (result.code, len(server.prompts)) == (Code.API_ERROR, 1)


def test_half_an_answer_is_reported_and_counted(call: AgentCall) -> None:
    """D4: an interrupted answer is a failure; its text and its tokens are reported."""
    observed: list[AgentEvent] = []
    with FakeLlm([FAULTS["d4_error_event"]]) as server:
        result = asyncio.run(make(server).spawn(call, observed.append))
    assert (result.code, result.text) == (Code.OVERLOADED, "")
    assert result.usage.input_tokens == 10
    assert [event for event in observed if isinstance(event, TextReceived)]
    assert UsageReported(result.usage) in observed


def test_a_truncated_answer_is_a_success_with_a_warning(call: AgentCall) -> None:
    """The result is a success with the warning RESPONSE_TRUNCATED."""
    with FakeLlm([FAULTS["d10_max_tokens"]]) as server:
        result = asyncio.run(make(server).spawn(call, lambda _: None))
    assert (result.code, result.warnings) == (None, ("RESPONSE_TRUNCATED",))


def test_the_system_prompt_states_that_there_are_no_tools(llm: FakeLlm, call: AgentCall) -> None:
    """The system prompt states that there are no tools."""
    asyncio.run(make(llm).spawn(call, lambda _: None))
    body = llm.prompts[0].body
    assert "no tools" in body["system"]
    assert "tools" not in body


def test_without_a_key_it_is_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variable; the environment and the settings both count."""
    plain = ModelApiExecutor("api", ExecutorSettings(), MockCommandRunner())
    with pytest.raises(AgentUnavailable, match="api has no key for the anthropic API") as caught:
        plain.validate_availability()
    assert (caught.value.code, caught.value.hint) == (Code.AUTH_FAILED, "set ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    plain.validate_availability()


def test_any_client_will_do(call: AgentCall) -> None:
    """The executor works with any ClaudeClient, and the request has the values of the call."""

    def answer(request: ClaudeRequest) -> ClaudeResponse:
        return ClaudeResponse(f"{request.model} {request.user_message}", 1, 2, "end_turn")

    mock = MockClaudeClient(answer)
    executor = ModelApiExecutor(
        "mine", ExecutorSettings(), MockCommandRunner(), connect=lambda provider, env, most: mock
    )
    timed = replace(call, model="opus", timeout_seconds=7, idle_timeout_seconds=3)
    assert asyncio.run(executor.spawn(timed, lambda _: None)).text == "claude-opus-4-6 Hello?"
    assert (mock.calls[0].timeout_seconds, mock.calls[0].idle_timeout_seconds) == (7, 3)


def test_a_transcript_that_cannot_be_written_is_a_result(llm: FakeLlm, call: AgentCall) -> None:
    """A transcript that cannot be written is a failed result, not an exception."""
    nowhere = replace(call, transcript="/proc/no/such/place.jsonl")
    assert asyncio.run(make(llm).spawn(nowhere, lambda _: None)).code is Code.WORKSPACE_WRITE_FAILED
