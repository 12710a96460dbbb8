"""Every recorded run of the real claude is evaluated."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import Raw

from ostler.errors import Code
from ostler.executors.claude.evaluate import evaluate_claude_run
from ostler.executors.claude.stream import ClaudeStream
from ostler.model.call import (
    AgentCall,
    AgentEvent,
    CallResult,
    LineSkipped,
    RetryReported,
    SessionStarted,
    TextReceived,
    ToolDenied,
    ToolReturned,
    ToolUsed,
    UsageReported,
)
from ostler.model.command import Exit
from ostler.model.usage import Usage

SAMPLES = Path(__file__).parents[1] / "data" / "claude"

EXPECTED: dict[str, tuple[int, Code | None]] = {  # the exit status that the program had, and what it means
    "err_400": (1, Code.API_ERROR),
    "err_401": (1, Code.AUTH_FAILED),
    "err_403": (1, Code.AUTH_FAILED),
    "err_404model": (1, Code.MODEL_NOT_FOUND),
    "err_429_nora": (1, Code.RATE_LIMITED),
    "err_429_ra1": (1, Code.RATE_LIMITED),
    "err_429_ra120_r1": (1, Code.RATE_LIMITED),
    "err_429_retries0": (1, Code.RATE_LIMITED),
    "err_429_then_ok": (0, None),
    "err_500": (1, Code.OVERLOADED),
    "err_529": (1, Code.OVERLOADED),
    "err_529_fallback": (1, Code.OVERLOADED),
    "err_529_retries0": (1, Code.OVERLOADED),
    "err_529_retries1": (1, Code.OVERLOADED),
    "err_budget": (1, Code.BUDGET_EXCEEDED),
    "err_connrefused": (1, Code.NETWORK),
    "err_credit": (1, Code.BILLING),
    "err_drop": (0, None),
    "err_empty": (0, Code.RESPONSE_EMPTY),
    "err_error_event": (0, None),
    "err_hang_apitimeout3s": (1, Code.NETWORK),
    "err_max_tokens": (1, Code.OUTPUT_LIMIT),
    "err_nokey": (1, Code.AUTH_FAILED),
    "err_prompt_too_long": (1, Code.PROMPT_TOO_LARGE),
    "err_refusal": (1, Code.REFUSED),
    "err_unlimited_turns_maxturns2": (1, Code.ITERATION_LIMIT),
    "input_stream_json": (0, None),
    "json_result": (0, None),
    "json_result_2.1.197": (0, None),
    "json_schema_result": (0, None),
    "partial_messages": (0, None),
    "stream_tool_denied": (0, None),
    "stream_tool_yolo": (0, None),
}


def play(name: str, status: int = 0, *, strip: tuple[str, ...] = ()) -> tuple[CallResult, list[AgentEvent]]:
    """Read a recorded run; `strip` renames members, as in versions without them."""
    events: list[AgentEvent] = []
    observed = ClaudeStream(events.append)
    for line in (SAMPLES / f"{name}.jsonl").read_bytes().splitlines():
        observed.read_line(_without(line, strip))
    observed.close()
    exit = Exit(status, 1.0)
    return evaluate_claude_run(AgentCall("implementer", "p"), observed, exit, lambda: 0.0), events


def _without(line: bytes, members: tuple[str, ...]) -> bytes:
    for member in members:
        line = line.replace(f'"{member}"'.encode(), b'"not_yet_invented"')
    return line


def test_every_sample_is_expected() -> None:
    """Each sample has an expected code here."""
    assert {path.stem for path in SAMPLES.glob("*.jsonl")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_sample_gets_its_code(name: str) -> None:
    """The code of a recorded run is the failure that the server played."""
    status, code = EXPECTED[name]
    result, events = play(name, status)
    assert result.code is code, result.message
    assert bool(result.text) is (code is None)
    assert not [event for event in events if isinstance(event, LineSkipped)]


@pytest.mark.parametrize("name", EXPECTED)
def test_text_alone_gives_the_same_code(name: str) -> None:
    """Versions up to 2.1.197 report no status and no error type: the text is enough."""
    status, code = EXPECTED[name]
    structured = ("api_error_status", "error", "api_error", "terminal_reason", "stop_reason")
    result, _ = play(name, status, strip=structured)
    only_structured = (Code.BUDGET_EXCEEDED, Code.ITERATION_LIMIT)
    assert result.code is (Code.AGENT_FAILED if code in only_structured else code), result.message


def test_tool_run_is_reported_in_order() -> None:
    """The session, the text and the tool with its command are reported in order."""
    result, events = play("stream_tool_yolo")
    assert events[0] == SessionStarted("5663f41a-ba2a-4efc-a718-f4b655dfb472", "claude-opus-5-5", "2.1.325")
    command = "echo hi > file.txt && cat file.txt"
    provided = Raw(b'{"command":"%b","description":"write file"}' % command.encode())
    shown = [event for event in events if not isinstance(event, UsageReported)]
    assert shown[1:5] == [
        TextReceived("I will write it."),
        ToolUsed("Bash", command, "toolu_886de45d521845c49fbf", provided),
        ToolReturned("toolu_886de45d521845c49fbf", "hi"),
        TextReceived("Done."),
    ]
    assert result.usage == Usage(20, 10)
    reported = [event.usage for event in events if isinstance(event, UsageReported)]
    assert len(reported) > 1 and sum(reported, Usage()) == result.usage
    assert result.text == "Done."


def test_denial_is_reported_once_and_warned_of() -> None:
    """A denied tool is printed twice and reported once."""
    result, events = play("stream_tool_denied")
    assert [event.tool for event in events if isinstance(event, ToolDenied)] == ["Bash"]
    assert result.warnings == ("PERMISSION_DENIED",)


def test_retries_are_reported_with_their_reason() -> None:
    """Each retry is reported with its code and delay."""
    _, events = play("err_429_then_ok")
    retries = [event for event in events if isinstance(event, RetryReported)]
    assert retries == [RetryReported(Code.RATE_LIMITED, 1.0), RetryReported(Code.OVERLOADED, 1.171)]


@pytest.mark.parametrize("name", ["err_429_ra120_r1", "err_429_ra1"])
def test_a_limit_of_a_key_has_no_time(name: str) -> None:
    """L7: claude prints no time for an API key, so `retry.rate_limit_wait_seconds` applies."""
    result, _ = play(name, 1)
    assert (result.retry_after_seconds, result.windows) == (None, ())


def test_last_result_counts() -> None:
    """The second of two results has the answer and the running total."""
    result, _ = play("input_stream_json")
    assert (result.text, result.cost_usd) == ("A2", pytest.approx(0.00028))


def test_fallback_model_is_reported() -> None:
    """After claude changed the model, the result names the model that answered."""
    assert play("err_529_fallback", 1)[0].model == "claude-sonnet-4-5"


def test_truncation_is_a_warning() -> None:
    """An answer over the output limit fails with a warning."""
    assert play("err_max_tokens", 1)[0].warnings == ("RESPONSE_TRUNCATED",)


def test_billing_is_the_key_that_claude_reports() -> None:
    """apiKeySource of the init line: a key is billed per token, no key is a subscription."""
    with_key, _ = play("stream_tool_yolo")
    without_key, _ = play("err_nokey", 1)
    assert (with_key.billing, without_key.billing) == ("api", "subscription")
