"""A model API as an agent: the conformance suite, and what is its own."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ostler.config.settings import ExecutorSettings, Provider
from ostler.errors import AgentUnavailable, Code
from ostler.executors.model_api import ModelApiExecutor
from ostler.llm.client import ClaudeRequest, ClaudeResponse
from ostler.model.call import AgentCall, AgentEvent, SessionReplaced, TextSaid, UsageSeen
from ostler.model.usage import Usage
from ostler.testing.conformance import CHECKS, Subject, run_check
from ostler.testing.fake_llm import FAULTS, Answer, Failure, FakeLlm, Request, Silence, fail, fit, say
from ostler.testing.mocks import MockClaudeClient, MockCommandRunner

PROVIDERS: list[Provider] = ["anthropic", "openai"]
KEY = "sk-test-0123456789"


def remember(request: Request) -> Answer:
    """Says the word that it was told in an earlier turn; this API sends every turn again."""
    if shaped := fit(request, sure=True):
        return shaped
    told = any("osprey" in text for text in (str(request.body.get("system")), *request.history[:-1]))
    return say("It was osprey." if told else "OK")


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


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_it_conforms(provider: Provider, check: str, tmp_path: Path) -> None:
    """Every promise that a program keeps, kept without one."""
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
    """Line by line as the provider sent them; the text and the tokens are told."""
    heard: list[AgentEvent] = []
    result = asyncio.run(make(llm).spawn(call, heard.append))
    lines = Path(call.transcript).read_bytes().splitlines()
    assert b"message_start" in lines[0]
    assert b"message_stop" in lines[-1]
    assert heard[1:] == [TextSaid("OK"), UsageSeen(Usage(10, 5))]
    assert (result.text, result.usage, result.cost_usd, result.model) == ("OK", Usage(10, 5), None, "m-1")


def test_a_session_is_a_private_file(llm: FakeLlm, call: AgentCall, tmp_path: Path) -> None:
    """Its turns are sent again on resume, and nobody else can read them."""
    executor = make(llm)
    asyncio.run(executor.spawn(replace(call, prompt="Remember osprey."), lambda _: None))
    result = asyncio.run(executor.resume(replace(call, prompt="Which word?"), lambda _: None))
    assert result.text == "It was osprey."
    assert llm.asked[1].history == ["Remember osprey.", "OK", "Which word?"]
    kept = tmp_path / "s-1.turns.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert KEY.encode() not in kept.read_bytes() + Path(call.transcript).read_bytes()


@pytest.mark.parametrize("damage", [b"", b"{", b'[{"role":"user"}]', b"\xff"])
def test_a_damaged_session_is_begun_again_and_said(
    llm: FakeLlm, call: AgentCall, tmp_path: Path, damage: bytes
) -> None:
    """The whole task is told anew, not just the next step."""
    (tmp_path / "s-1.turns.json").write_bytes(damage)
    heard: list[AgentEvent] = []
    again = replace(call, prompt="Go on.", fresh_prompt="The whole task.")
    assert asyncio.run(make(llm).resume(again, heard.append)).ok
    assert heard[0] == SessionReplaced("s-1", resumed=False)
    assert llm.asked[0].history == ["The whole task."]


def test_a_failed_call_has_begun_no_session(call: AgentCall) -> None:
    """The repeat begins it, and no session was lost; the failure is in the transcript."""
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
def test_an_api_that_knows_no_schemas_is_asked_without_one(
    call: AgentCall, provider: Provider, refusal: str
) -> None:
    """Older models and servers of one's own refuse it; their free text is read like anyone's."""

    def refuse(request: Request) -> Answer | Failure:
        return fail(400, refusal) if fit(request) else say("done")

    with FakeLlm([refuse]) as server:
        shaped = replace(call, schema='{"type": "object", "properties": {}}')
        result = asyncio.run(make(server, provider).spawn(shaped, lambda _: None))
        assert (result.code, result.text, len(server.asked)) == (None, "done", 2)


def test_another_refusal_of_a_schema_is_not_repeated(call: AgentCall) -> None:
    """What has nothing to do with it is the result."""
    with FakeLlm([fail(400, "messages: roles must alternate")]) as server:
        result = asyncio.run(make(server).spawn(replace(call, schema='{"type": "object"}'), lambda _: None))
        assert (result.code, len(server.asked)) == (Code.API_ERROR, 1)


def test_half_an_answer_is_told_and_counted(call: AgentCall) -> None:
    """D4: no success, but what came stands in the log and its tokens in the sum."""
    heard: list[AgentEvent] = []
    with FakeLlm([FAULTS["d4_error_event"]]) as server:
        result = asyncio.run(make(server).spawn(call, heard.append))
    assert (result.code, result.text) == (Code.OVERLOADED, "")
    assert result.usage.input_tokens == 10
    assert [event for event in heard if isinstance(event, TextSaid)]
    assert UsageSeen(result.usage) in heard


def test_a_truncated_answer_is_a_success_with_a_warning(call: AgentCall) -> None:
    """RESPONSE_TRUNCATED stands beside the success, never in its code."""
    with FakeLlm([FAULTS["d10_max_tokens"]]) as server:
        result = asyncio.run(make(server).spawn(call, lambda _: None))
    assert (result.code, result.warnings) == (None, ("RESPONSE_TRUNCATED",))


def test_the_model_is_told_that_it_has_no_tools(llm: FakeLlm, call: AgentCall) -> None:
    """Else it describes work that did not happen."""
    asyncio.run(make(llm).spawn(call, lambda _: None))
    body = llm.asked[0].body
    assert "no tools" in body["system"]
    assert "tools" not in body


def test_without_a_key_it_is_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the variable is the way out; our own environment and the settings both count."""
    plain = ModelApiExecutor("api", ExecutorSettings(), MockCommandRunner())
    with pytest.raises(AgentUnavailable, match="api has no key for the anthropic API") as caught:
        plain.validate_availability()
    assert (caught.value.code, caught.value.hint) == (Code.AUTH_FAILED, "set ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    plain.validate_availability()


def test_any_client_will_do(call: AgentCall) -> None:
    """The seam below the executor is ClaudeClient; what it is asked is what the call says."""

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
    """A disk that refuses is a code, not a crash."""
    nowhere = replace(call, transcript="/proc/no/such/place.jsonl")
    assert asyncio.run(make(llm).spawn(nowhere, lambda _: None)).code is Code.WORKSPACE_WRITE_FAILED
