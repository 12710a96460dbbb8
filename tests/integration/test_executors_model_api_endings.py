"""How a call of a model API ends, for both APIs: the table of seed 003."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from ostler.calls.models.retry import RetryContext, SwitchModel, Wait, decide
from ostler.config.settings import ExecutorSettings, Provider, RetrySettings
from ostler.errors import Code
from ostler.executors.model_api.executor import ModelApiExecutor
from ostler.model.call import AgentCall, CallResult
from ostler.model.usage import Usage
from ostler.testing.fake_llm import FAULTS, Answer, FakeLlm, Scripted, Silence, fail, say
from ostler.testing.mocks import MockCommandRunner

PROVIDERS: list[Provider] = ["anthropic", "openai"]
both_wires = pytest.mark.parametrize("provider", PROVIDERS)
RULES = RetryContext(RetrySettings(), "step", 1000.0)


def run(provider: Provider, turn: Scripted, tmp_path: Path, **more: float) -> CallResult:
    """Run the one call that this turn answers; more than one request would be a retry of the SDK."""
    with FakeLlm([turn]) as llm:
        name, url = provider.upper(), llm.url if provider == "anthropic" else f"{llm.url}/v1"
        env = {f"{name}_API_KEY": "sk-test-0123456789", f"{name}_BASE_URL": url}
        settings = ExecutorSettings(env=env, provider=provider)
        call = AgentCall("writer", "Write.", "s-1", model="m-1", transcript=str(tmp_path / "t.jsonl"))
        executor = ModelApiExecutor("api", settings, MockCommandRunner())
        result = asyncio.run(executor.spawn(replace(call, **more), lambda _: None))
        assert len(llm.prompts) <= 1
    return result


@both_wires
def test_a_truncated_answer_keeps_its_text(provider: Provider, tmp_path: Path) -> None:
    """C126: a truncated answer is a success with a warning and the whole text."""
    result = run(provider, say("Half a docu", stop="max_tokens"), tmp_path)
    assert (result.code, result.text, result.warnings) == (None, "Half a docu", ("RESPONSE_TRUNCATED",))


@both_wires
@pytest.mark.parametrize("text", ["", " ", "\n\t \n"])
@pytest.mark.parametrize("stop", ["end_turn", "max_tokens"])
def test_an_answer_of_nothing_is_a_failure(provider: Provider, text: str, stop: str, tmp_path: Path) -> None:
    """A blank answer is a failure; its tokens are counted."""
    result = run(provider, say(text, stop=stop), tmp_path)
    assert (result.code, result.text, result.usage) == (Code.RESPONSE_EMPTY, "", Usage(10, 5))


@both_wires
def test_an_unknown_reason_to_stop_is_an_ordinary_end(provider: Provider, tmp_path: Path) -> None:
    """An unknown stop reason is a normal end."""
    result = run(provider, say("Done.", stop="sunset"), tmp_path)
    assert (result.code, result.text, result.warnings) == (None, "Done.", ())


def test_blocks_of_text_are_joined_by_a_blank_line(tmp_path: Path) -> None:
    """Blocks of other types are skipped."""
    blocks = ({"type": "text", "text": "One."}, {"type": "hologram"}, {"type": "text", "text": "Two."})
    assert run("anthropic", Answer(say="Three.", blocks=blocks), tmp_path).text == "One.\n\nTwo.\n\nThree."


@both_wires
@pytest.mark.parametrize(
    ("status", "code"), [(401, Code.AUTH_FAILED), (403, Code.AUTH_FAILED), (404, Code.MODEL_NOT_FOUND)]
)
def test_what_no_retry_fixes_is_not_repeated(
    provider: Provider, status: int, code: Code, tmp_path: Path
) -> None:
    """Seed 003 retries these as API_ERROR; here the model is disabled at once."""
    result = run(provider, fail(status, "no"), tmp_path)
    assert result.code is code
    assert decide(result, 0, (), RULES) == SwitchModel(disable=True)


@both_wires
@pytest.mark.parametrize(("asked", "until"), [("0", 1000.0), ("7", 1007.0), ("60", 1060.0)])
def test_the_provider_shows_how_long_to_wait(
    provider: Provider, asked: str, until: float, tmp_path: Path
) -> None:
    """Retry-After is used exactly; when it exceeds the longest delay, another model is used."""
    result = run(provider, fail(429, "slow down", retry_after=asked), tmp_path)
    assert (result.code, decide(result, 0, (), RULES)) == (Code.RATE_LIMITED, Wait(until))
    longer = run(provider, FAULTS["d1_seconds"], tmp_path)
    assert decide(longer, 0, (), RULES) == SwitchModel()


@both_wires
@pytest.mark.parametrize(
    ("status", "code"),
    [
        (408, Code.NETWORK),
        (500, Code.OVERLOADED),
        (502, Code.OVERLOADED),
        (503, Code.OVERLOADED),
        (504, Code.OVERLOADED),
        (529, Code.OVERLOADED),
    ],
)
def test_what_passes_is_tried_again(provider: Provider, status: int, code: Code, tmp_path: Path) -> None:
    """Ostler retries with an exponential delay; the SDK does not retry."""
    result = run(provider, fail(status, "later"), tmp_path)
    assert result.code is code
    assert [isinstance(decide(result, attempt, (), RULES), Wait) for attempt in (0, 1, 2)] == [
        True,
        True,
        False,
    ]


@both_wires
def test_each_attempt_has_its_own_time(provider: Provider, tmp_path: Path) -> None:
    """C54: a timeout is retried, in contrast to ABORTED."""
    result = run(provider, Silence(600), tmp_path, timeout_seconds=1.0)
    assert result.code is Code.TIMEOUT
    assert isinstance(decide(result, 0, (), RULES), Wait)
    aborted = CallResult(Code.ABORTED)
    assert decide(aborted, 0, (), RULES) == SwitchModel()


@both_wires
@pytest.mark.parametrize("turn", [fail(400, "what?"), fail(422, "what?"), say(" ")])
def test_what_would_fail_again_is_sent_once(provider: Provider, turn: Scripted, tmp_path: Path) -> None:
    """K12: a rejected request and an empty answer are final."""
    result = run(provider, turn, tmp_path)
    assert result.code in (Code.API_ERROR, Code.RESPONSE_EMPTY)
    assert decide(result, 0, (), RULES) == SwitchModel()
