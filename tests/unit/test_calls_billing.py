"""Billing, detected from the environment variables of a child."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.calls.spending.billing import detect_billing
from ostler.model.attempt import Billing

KEY = {"ANTHROPIC_API_KEY": "k"}
TOKEN = {"CLAUDE_CODE_OAUTH_TOKEN": "t"}


@pytest.mark.parametrize(
    ("kind", "env", "expected"),
    [
        ("claude", KEY, "api"),
        ("claude", TOKEN, "subscription"),
        ("claude", KEY | TOKEN, "api"),  # headless, claude uses the key
        ("claude", {}, "subscription"),
        ("claude", {"ANTHROPIC_API_KEY": ""}, "subscription"),
        ("claude", KEY | {"ANTHROPIC_BASE_URL": "http://127.0.0.1:4000"}, "proxy"),
        ("claude", {"ANTHROPIC_BASE_URL": "https://anthropic.com.example.org"}, "proxy"),
        ("claude", {"ANTHROPIC_BASE_URL": "https://notanthropic.com"}, "proxy"),
        ("claude", {"ANTHROPIC_BASE_URL": "http://[broken"}, "proxy"),
        ("claude", KEY | {"ANTHROPIC_BASE_URL": "https://api.anthropic.com/v1"}, "api"),
        ("claude", KEY | {"ANTHROPIC_BASE_URL": " "}, "api"),
        ("claude", {"CLAUDE_CODE_USE_BEDROCK": "1"}, "api"),
        ("claude", {"CLAUDE_CODE_USE_BEDROCK": "0"}, "subscription"),
        ("claude-acp", KEY, "api"),
        ("codex", {"CODEX_API_KEY": "k"}, "api"),
        ("codex", {}, "subscription"),
        ("codex", {"OPENAI_BASE_URL": "https://gateway.example.org/v1"}, "proxy"),
        ("gemini", {"GEMINI_API_KEY": "k"}, "api"),
        ("gemini", {"GOOGLE_GENAI_USE_VERTEXAI": "true"}, "api"),
        ("gemini", {}, "subscription"),
        ("qwen", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://dashscope.aliyuncs.com/v1"}, "api"),
        ("qwen", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://localhost:8000"}, "proxy"),
        ("copilot", {"GH_TOKEN": "t"}, "subscription"),
        ("copilot", {"COPILOT_PROVIDER_BASE_URL": "http://localhost:1"}, "proxy"),
        ("cursor", {"CURSOR_API_KEY": "k"}, "subscription"),
        ("opencode", {}, "unknown"),
        ("opencode", {"OPENAI_API_KEY": "k"}, "api"),
        ("model_api", KEY, "api"),
        ("command", KEY, "unknown"),
        ("scripted", {}, "unknown"),
        ("a-plugin-of-someone", KEY, "unknown"),
    ],
)
def test_billing_is_detected(kind: str, env: dict[str, str], expected: Billing) -> None:
    """A foreign URL is a proxy, a key is billed per token, a login by a subscription; otherwise it is
    unknown.
    """
    assert detect_billing(kind, env) == expected


@given(st.text(max_size=40))
def test_no_address_breaks_it(address: str) -> None:
    """Every value of a variable has a result."""
    assert detect_billing("claude", KEY | {"ANTHROPIC_BASE_URL": address}) in ("api", "proxy")


@pytest.mark.parametrize(
    ("env", "reported", "expected"),
    [
        (KEY, "subscription", "subscription"),  # claude did not use the key
        ({}, "api", "api"),  # the key comes from a helper program
        ({"ANTHROPIC_BASE_URL": "http://127.0.0.1:4000"}, "api", "proxy"),
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, "subscription", "api"),
    ],
)
def test_what_the_agent_reports_is_stronger_than_its_variables(
    env: dict[str, str], reported: Billing, expected: Billing
) -> None:
    """Only the address and the cloud, which it does not report, are known from the environment."""
    assert detect_billing("claude", env, reported) == expected
