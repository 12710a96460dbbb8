"""The account and the model of a provider."""

from __future__ import annotations

import pytest

from ostler.config.settings import Provider
from ostler.errors import Code
from ostler.llm.client import DEFAULT_MODEL_MAP
from ostler.llm.connect import connect, read_config, resolve_model
from ostler.llm.failure import ModelError


@pytest.mark.parametrize(
    ("env", "key", "bearer"),
    [
        ({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t"}, "k", False),
        ({"ANTHROPIC_AUTH_TOKEN": "t\n"}, "t", True),
        ({"ANTHROPIC_API_KEY": " ", "ANTHROPIC_AUTH_TOKEN": "t"}, "t", True),
        ({"OPENAI_API_KEY": "other"}, "", False),
    ],
)
def test_a_key_counts_before_a_token(env: dict[str, str], key: str, bearer: bool) -> None:
    """An API key precedes an access token."""
    config = read_config("anthropic", env, 10)
    assert (config.api_key, config.bearer) == (key, bearer)


def test_the_address_and_the_limit_are_taken_over() -> None:
    """The configuration has the address of the variable and the token limit."""
    config = read_config("openai", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://here/v1"}, 10)
    assert (config.base_url, config.default_max_tokens) == ("http://here/v1", 10)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_without_a_key_there_is_no_client(provider: Provider) -> None:
    """The error names the missing variable."""
    with pytest.raises(ModelError, match=rf"{provider.upper()}_API_KEY is not set") as caught:
        connect(provider, {}, 1)
    assert caught.value.code is Code.AUTH_FAILED


def test_a_model_has_its_own_name() -> None:
    """Short names and the default exist for Anthropic; other names are not changed."""
    assert resolve_model("anthropic", "") == DEFAULT_MODEL_MAP["sonnet"]
    assert resolve_model("anthropic", "opus") == DEFAULT_MODEL_MAP["opus"]
    assert resolve_model("anthropic", "claude-x") == "claude-x"
    assert resolve_model("openai", "opus") == "opus"
    with pytest.raises(ModelError, match="no model is set") as caught:
        resolve_model("openai", "")
    assert caught.value.hint == "choose another model with run.model or --model"
