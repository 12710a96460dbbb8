"""Limits of the loopback server, read by both clients and by the executor of model APIs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ostler.config.settings import ExecutorSettings
from ostler.errors import Code
from ostler.executors.model_api.executor import ModelApiExecutor
from ostler.model.call import AgentCall, AgentEvent, CallResult, LimitReported
from ostler.testing.fake_llm import LIMITS, FakeLlm
from ostler.testing.mocks import MockCommandRunner

KEY = "sk-test-0123456789"
HOUR, DAY = 3600.0, 86_400.0

# What each case is for a client of Anthropic: its code, the window that decides and its status, the delay.
ANTHROPIC: dict[str, tuple[Code | None, str, float | None]] = {
    "near": (None, "five_hour warning", None),
    "half": (None, "five_hour allowed", None),
    "rejected": (Code.QUOTA_EXCEEDED, "five_hour rejected", 4 * HOUR),
    "rejected_until_reset": (Code.QUOTA_EXCEEDED, "five_hour rejected", 20),
    "weekly": (Code.QUOTA_EXCEEDED, "seven_day rejected", 3 * DAY),
    "opus": (Code.QUOTA_EXCEEDED, "seven_day_opus rejected", 2 * DAY),
    "sonnet": (Code.QUOTA_EXCEEDED, "seven_day_sonnet rejected", 2 * DAY),
    "overage": (None, "five_hour warning", None),
    "overage_rejected": (Code.QUOTA_EXCEEDED, "overage rejected", 8 * DAY),
    "exhausted": (Code.QUOTA_EXCEEDED, "five_hour rejected", 19_390),
    "requests": (None, "requests allowed", None),
    "requests_rejected": (Code.RATE_LIMITED, "requests rejected", 30),
    "retry_after_hours": (Code.RATE_LIMITED, "", 4 * HOUR),
    "retry_after_ms": (Code.RATE_LIMITED, "", 1.5),
    "mid_stream": (Code.RATE_LIMITED, "", 20),
}


def send(provider: Any, case: str, directory: Path) -> tuple[CallResult, list[AgentEvent]]:
    settings = ExecutorSettings(type="model_api", provider=provider)
    events: list[AgentEvent] = []
    with FakeLlm([LIMITS[case]]) as llm:
        urls = {"ANTHROPIC_BASE_URL": llm.url, "OPENAI_BASE_URL": f"{llm.url}/v1"}
        env = {**urls, "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
        executor = ModelApiExecutor("api", settings, MockCommandRunner())
        transcript = str(directory / "transcript.jsonl")
        call = AgentCall(
            "i", "Hello?", "s-1", model="m-1", env=env, transcript=transcript, timeout_seconds=30
        )
        return asyncio.run(executor.spawn(call, events.append)), events


def test_every_case_is_expected() -> None:
    """Each case of the server has a row here."""
    assert set(ANTHROPIC) == set(LIMITS)


@pytest.mark.parametrize("case", ANTHROPIC)
def test_a_limit_of_anthropic(case: str, tmp_path: Path) -> None:
    """The code, the window and the delay; the windows are an event, too."""
    code, window, wait = ANTHROPIC[case]
    result, events = send("anthropic", case, tmp_path)
    assert result.code is code, result.message
    assert not window or window in [f"{one.name} {one.status}" for one in result.windows]
    reported = [event.windows for event in events if isinstance(event, LimitReported)]
    assert reported == ([result.windows] if result.windows else [])
    seconds = result.retry_after_seconds
    assert seconds is None if wait is None else seconds is not None and wait - 10 < seconds <= wait + 1


@pytest.mark.parametrize(
    ("case", "code", "wait"),
    [
        ("requests", None, None),
        ("requests_rejected", Code.RATE_LIMITED, 30),
        ("retry_after_hours", Code.RATE_LIMITED, 4 * HOUR),
        ("retry_after_ms", Code.RATE_LIMITED, 1.5),
        ("mid_stream", Code.RATE_LIMITED, 20),
    ],
)
def test_a_limit_of_openai(case: str, code: Code | None, wait: float | None, tmp_path: Path) -> None:
    """The same with x-ratelimit headers, and in the middle of an answer."""
    result, _ = send("openai", case, tmp_path)
    assert (result.code, result.retry_after_seconds) == (code, wait)
    names = [(one.name, one.status) for one in result.windows]
    expected = "rejected" if code else "allowed"
    assert names == ([("requests", expected)] if case.startswith("requests") else [])
