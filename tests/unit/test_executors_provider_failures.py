"""A failure of the provider has one code, whichever program prints its text, and wherever (L9)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.acp.evaluate import ACP_FAILURES, describe_output, evaluate_conversation
from ostler.executors.command import PRESETS
from ostler.executors.failures import classify_failure
from ostler.executors.limits.retries import RetryLines
from ostler.executors.registry import ExecutorRegistry
from ostler.executors.stream_state import StreamState
from ostler.model.call import AgentCall, CallResult
from ostler.model.command import Exit
from ostler.testing.fake_agent import fake_agent
from ostler.testing.mocks import MockCommandRunner

TEXTS = {
    "connect ECONNREFUSED 127.0.0.1:443": Code.NETWORK,
    "connect ETIMEDOUT 160.79.104.10:443": Code.NETWORK,
    "read ECONNRESET": Code.NETWORK,
    "socket hang up": Code.NETWORK,
    "getaddrinfo EAI_AGAIN api.example.com": Code.NETWORK,
    "getaddrinfo ENOTFOUND api.example.com": Code.NETWORK,
    "fetch failed": Code.NETWORK,
    "Request timed out.": Code.NETWORK,
    "Connection timeout": Code.NETWORK,
    "500 Internal Server Error": Code.OVERLOADED,
    "502 Bad Gateway": Code.OVERLOADED,
    "503 Service Unavailable": Code.OVERLOADED,
    "504 Gateway Timeout": Code.OVERLOADED,
    "529 Overloaded": Code.OVERLOADED,
    "model not found: model-99": Code.MODEL_NOT_FOUND,
    "The model `model-99` does not exist": Code.MODEL_NOT_FOUND,
    "prompt is too long: 250000 tokens > 200000 maximum": Code.PROMPT_TOO_LARGE,
    "Your input exceeds the context window of this model": Code.PROMPT_TOO_LARGE,
    "Your billing limit is reached": Code.QUOTA_EXCEEDED,
    "Billing hard limit has been reached": Code.QUOTA_EXCEEDED,
    "You've hit your 5-hour limit · resets 12:47am (UTC)": Code.QUOTA_EXCEEDED,
    "You've hit your weekly limit · resets Nov 18, 3pm (Europe/Berlin)": Code.QUOTA_EXCEEDED,
    "You\u2019ve hit your usage limit. Try again at 7:58 PM.": Code.QUOTA_EXCEEDED,
    "You're out of extra usage · resets 11:30am (Asia/Colombo)": Code.QUOTA_EXCEEDED,
    "Claude AI usage limit reached|1999999999": Code.QUOTA_EXCEEDED,
    "429 Too Many Requests, Retry-After: 2": Code.RATE_LIMITED,
    "Server is temporarily limiting requests (not your usage limit): rate limit": Code.RATE_LIMITED,
}
OUTPUT = describe_output("acp", RetryLines())
PROGRAMS = ("claude", "codex", "copilot", "cursor", "gemini", "opencode", "qwen", "command", *PRESETS)


def run(kind: str, lines: list[bytes], exit: Exit, directory: Path) -> CallResult:
    program = directory / "claude"
    if not program.exists():
        fake_agent(directory, "claude")
    settings = ExecutorSettings(command=str(program), permissions="skip")
    executor = ExecutorRegistry().get(kind)(kind, settings, MockCommandRunner(lines, exit))
    call = AgentCall("i", "p", "00000000-0000-4000-8000-000000000001", allow_unsandboxed_skip=True)
    return asyncio.run(executor.spawn(call, lambda _: None))


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_text_on_stderr_has_its_code(kind: str, tmp_path: Path) -> None:
    """Every program, every text: the code of the failure."""
    for text, code in TEXTS.items():
        for printed in (f"Error: {text}", f"starting\n{text}\n"):
            result = run(kind, [], Exit(1, 0.1, stderr_tail=printed), tmp_path)
            assert result.code is code, (printed, result.code, result.message)
            assert code is not Code.QUOTA_EXCEEDED or result.windows[-1].status == "rejected"


def claude_line(text: str) -> bytes:
    return json.dumps({"type": "result", "is_error": True, "result": f"API Error: {text}"}).encode()


def qwen_line(text: str) -> bytes:
    return json.dumps({"type": "result", "is_error": False, "result": f"[API Error: {text}]"}).encode()


def codex_line(text: str) -> bytes:
    return json.dumps({"type": "turn.failed", "error": {"message": text}}).encode()


def gemini_line(text: str) -> bytes:
    return json.dumps({"type": "result", "status": "error", "error": {"message": text}}).encode()


def plain_line(text: str) -> bytes:
    return f"Error: {text}".encode()


PRINTED = {
    "claude": claude_line,
    "qwen": qwen_line,
    "codex": codex_line,
    "gemini": gemini_line,
    "command": plain_line,
    "amp": plain_line,
}


@pytest.mark.parametrize("kind", PRINTED)
def test_a_text_in_the_output_has_its_code(kind: str, tmp_path: Path) -> None:
    """The same in the form in which each program reports an error."""
    for text, code in TEXTS.items():
        exit = Exit(0 if kind == "qwen" else 1, 0.1, stdout_bytes=9)
        result = run(kind, [PRINTED[kind](text)], exit, tmp_path)
        assert result.code is code, (text, result.code, result.message)


def test_a_text_of_an_acp_agent_has_its_code() -> None:
    """As an error of the protocol, and as a text of the model without tokens."""
    for text, code in TEXTS.items():
        assert classify_failure(text, table=ACP_FAILURES) is code, text
        state = StreamState(AgentCall("i", "p"), lambda _: None)
        state.add_message(f"Error: {text}")
        state.finish(succeeded=True)
        result = evaluate_conversation(AgentCall("i", "p"), state, Exit(0, 0.1), OUTPUT)
        assert result.code is code, text


def test_a_delay_of_seconds_in_a_text_is_honoured(tmp_path: Path) -> None:
    """L7: `Retry-After: 2` in the text of any program."""
    for kind in PROGRAMS:
        exit = Exit(1, 0.1, stderr_tail="429 Too Many Requests, Retry-After: 2")
        assert run(kind, [], exit, tmp_path).retry_after_seconds == 2.0, kind
    line = claude_line("Request rejected (429) · slow down. Retry-After: 2")
    assert run("claude", [line], Exit(1, 0.1), tmp_path).retry_after_seconds == 2.0
