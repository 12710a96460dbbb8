"""The loopback server reports limits in the form of each API."""

from __future__ import annotations

import json
import time
from http.client import HTTPConnection, HTTPResponse

import pytest

from ostler.testing.fake_llm import LIMITS, FakeLlm, Limits, LimitWindow, near, read_script, reject, say

PATHS = {
    "anthropic": "/v1/messages",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/m:generateContent",
}


def send(llm: FakeLlm, api: str, stream: bool = False) -> HTTPResponse:
    connection = HTTPConnection(llm.url.removeprefix("http://"), timeout=20)
    connection.request("POST", PATHS[api], json.dumps({"stream": stream, "messages": []}).encode())
    return connection.getresponse()


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_has_the_headers_of_a_subscription(stream: bool) -> None:
    """Unified headers for Anthropic, x-codex headers for Responses, with whole and streamed answers."""
    with FakeLlm([near(0.93)]) as llm:
        with send(llm, "anthropic", stream) as response:
            assert response.getheader("anthropic-ratelimit-unified-status") == "allowed_warning"
            assert response.getheader("anthropic-ratelimit-unified-5h-utilization") == "0.93"
            assert response.getheader("anthropic-ratelimit-unified-representative-claim") == "five_hour"
            reset = float(response.getheader("anthropic-ratelimit-unified-7d-reset") or 0)
        with send(llm, "responses", stream) as response:
            assert response.getheader("x-codex-primary-used-percent") == "93"
            assert response.getheader("x-codex-secondary-window-minutes") == "10080"
            assert response.getheader("x-codex-secondary-reset-at") == str(round(reset))


def test_a_rejection_has_the_error_of_its_api() -> None:
    """usage_limit_reached of ChatGPT, QUOTA_EXHAUSTED of Gemini."""
    with FakeLlm([LIMITS["exhausted"]]) as llm:
        with send(llm, "responses") as response:
            error = json.loads(response.read())["error"]
        assert (response.status, error["type"]) == (429, "usage_limit_reached")
        assert error["resets_at"] == round(llm.started_at + 19_390)
        with send(llm, "gemini") as response:
            error = json.loads(response.read())["error"]
    assert error["status"] == "RESOURCE_EXHAUSTED"
    assert error["message"].endswith("Your quota will reset after 5h23m10s.")
    assert error["details"][0]["metadata"]["quotaResetDelay"] == "5h23m10s"


def test_a_rejection_lasts_until_its_reset() -> None:
    """Every request is rejected until then; after it the next turn follows."""
    with FakeLlm([say("first"), reject(seconds=0.6, until_reset=True), say("back")]) as llm:
        statuses = [send(llm, "anthropic").status for _ in range(4)]
        assert statuses == [200, 429, 429, 429]
        time.sleep(max(0.0, llm.started_at + 0.61 - time.time()))
        assert b"back" in send(llm, "anthropic").read()


def test_a_script_has_limits_as_data() -> None:
    """A case by name, or windows with any use."""
    text = """
- limit: rejected
- say: Done.
  limits:
    windows: {five_hour: {used: 0.5}, seven_day: {used: 0.97, resets_in_seconds: 3600}}
    overage: allowed
- status: 429
  until_reset: true
  limits: {windows: {seven_day_opus: {used: 1}}}
- say: half
  breaks: error_event
  error: {status: 429, message: "Try again in 20s."}
"""
    first, second, third, fourth = read_script(text)
    assert first is LIMITS["rejected"]
    windows = {"five_hour": LimitWindow(0.5), "seven_day": LimitWindow(0.97, 3600)}
    assert getattr(second, "limits", None) == Limits(windows, overage="allowed")
    assert getattr(third, "until_reset", None) is True
    assert getattr(fourth, "error", None) is not None
    with pytest.raises(ValueError, match="turn 1: unknown limit never: did you mean near\\?"):
        read_script("- limit: never")
