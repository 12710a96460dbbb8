"""The codes of error texts."""

from __future__ import annotations

import pytest

from ostler.errors import Code
from ostler.executors.claude.failures import CLAUDE_FAILURES
from ostler.executors.failures import (
    SHARED_FAILURES,
    FailureTable,
    classify_failure,
    text_rules,
)


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("You exceeded your current quota, please check your plan", 429, Code.QUOTA_EXCEEDED),
        ("Your credit balance is too low", 400, Code.BILLING),
        ("This model's maximum context length is 8192 tokens", 400, Code.PROMPT_TOO_LARGE),
        ("whatever it says", 401, Code.AUTH_FAILED),
        ("whatever it says", 402, Code.BILLING),
        ("whatever it says", 404, Code.MODEL_NOT_FOUND),
        ("whatever it says", 429, Code.RATE_LIMITED),
        ("whatever it says", 529, Code.OVERLOADED),
        ("whatever it says", 500, Code.OVERLOADED),
        ("unexpected status 401 Unauthorized: bad key", None, Code.AUTH_FAILED),
        ("exceeded retry limit, last status: 429 Too Many Requests", None, Code.RATE_LIMITED),
        ("[API Error: 503 no backend]", None, Code.OVERLOADED),
        ('{"error":{"code":403,"message":"no"}}', None, Code.AUTH_FAILED),
        ("Rate limit reached for gpt", None, Code.RATE_LIMITED),
        ("The rate of your requests exceeds the limit", None, Code.RATE_LIMITED),
        ("TooManyRequestsException: slow down", None, Code.RATE_LIMITED),
        ("code: too_many_requests", None, Code.RATE_LIMITED),
        ("429 status code (no body)", None, Code.RATE_LIMITED),
        ("429 passed, 3 skipped in 2.1s", None, None),
        ("500 errors", None, None),
        ("Selected model is at capacity", None, Code.OVERLOADED),
        ("The model `x` does not exist", None, Code.MODEL_NOT_FOUND),
        ("connect ECONNREFUSED 127.0.0.1:1", None, Code.NETWORK),
        ("fetch failed", None, Code.NETWORK),
        ("stream disconnected before completion", None, Code.STREAM_BROKEN),
        ("Internal server error", None, Code.OVERLOADED),
        ("Error: 502 Bad Gateway", None, Code.OVERLOADED),
        ("504 Gateway Timeout", None, Code.OVERLOADED),
        ("connect ECONNREFUSED 127.0.0.1:443", None, Code.NETWORK),
        ("connect ETIMEDOUT 160.79.104.10:443", None, Code.NETWORK),
        ("getaddrinfo EAI_AGAIN api.anthropic.com", None, Code.NETWORK),
        ("Error: socket hang up", None, Code.NETWORK),
        ("Request timed out.", None, Code.NETWORK),
        ("Temporary failure in name resolution", None, Code.NETWORK),
        ("model not found: gpt-99", None, Code.MODEL_NOT_FOUND),
        ("prompt is too long: 250000 tokens > 200000 maximum", None, Code.PROMPT_TOO_LARGE),
        ("Billing hard limit has been reached", None, Code.QUOTA_EXCEEDED),
        ("error: unexpected argument '--x'", None, Code.AGENT_INCOMPATIBLE),
        ("You have reached your spend limit", 429, Code.BILLING),
        ("enforced_spend_limit_reached", 429, Code.BILLING),
        ("Your input exceeds the context window of this model", None, Code.PROMPT_TOO_LARGE),
        ("authentication_error: bad key", None, Code.AUTH_FAILED),
        ("blocked for safety reasons", None, Code.REFUSED),
        ("API Error: something new", None, Code.API_ERROR),
        ("Your refresh token was revoked. Please log out and sign in again.", None, Code.AUTH_FAILED),
        ("OAuth token has expired", None, Code.AUTH_FAILED),
        ("Invalid key. Please run /login", None, Code.AUTH_FAILED),
        ("ProviderAuthError: API key missing", None, Code.AUTH_FAILED),
        ("Please set an Auth method in your settings.json", None, Code.AUTH_FAILED),
        ("No authentication information found", None, Code.AUTH_FAILED),
        ("upstream connect error or disconnect/reset before headers", None, Code.NETWORK),
        ("net::ERR_INTERNET_DISCONNECTED", None, Code.NETWORK),
        ("ConnectTimeoutError", None, Code.NETWORK),
        ("Cannot connect to API: Unable to connect.", None, Code.NETWORK),
        ("DNS lookup failed", None, Code.NETWORK),
        ("The server is temporarily unavailable", None, Code.OVERLOADED),
        ("The server had an error processing your request", None, Code.OVERLOADED),
        ("ServiceUnavailableException", None, Code.OVERLOADED),
        ("ThrottlingException: Too many tokens, please wait", None, Code.RATE_LIMITED),
        ("5-hour limit reached ∙ resets 3am", None, Code.QUOTA_EXCEEDED),
        ("weekly limit reached · resets Oct 9, 5pm", None, Code.QUOTA_EXCEEDED),
        ("fork: Resource temporarily unavailable", None, None),
        ("unexpected EOF while looking for matching quote", None, None),
        ("could not write the tests of the refresh token", None, None),
        ("unable to connect to the test database", None, None),
        ("line 429 of the file is empty", None, None),
        ("timed out after 500s", None, None),
        ("could not write the authentication tests", None, None),
        ("loaded the context window plugin", None, None),
        ("safety glasses are on", None, None),
        ("the tests failed", None, None),
        ("", None, None),
    ],
)
def test_text_and_status(text: str, status: int | None, code: Code | None) -> None:
    """An exhausted account is found by its text, then the status decides, then other texts."""
    assert classify_failure(text, status) is code


def test_own_rules_come_first() -> None:
    """The rules of an agent precede the shared rules."""
    own = FailureTable(text_rules({"exceeded your current quota": Code.RATE_LIMITED}))
    assert classify_failure("You exceeded your current quota", 429, own) is Code.RATE_LIMITED


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("connect ECONNREFUSED 127.0.0.1:443", Code.NETWORK),
        ("getaddrinfo EAI_AGAIN api.anthropic.com", Code.NETWORK),
        ("socket hang up", Code.NETWORK),
        ("API Error: 502 Bad Gateway", Code.OVERLOADED),
        ("model not found: claude-9", Code.MODEL_NOT_FOUND),
        ("Your billing limit is reached", Code.QUOTA_EXCEEDED),
    ],
)
@pytest.mark.parametrize("table", [CLAUDE_FAILURES, SHARED_FAILURES], ids=["claude", "shared"])
def test_every_agent_has_the_shared_rows(text: str, code: Code, table: FailureTable) -> None:
    """A failure of the provider has the same code whichever program prints it."""
    assert classify_failure(text, table=table) is code
