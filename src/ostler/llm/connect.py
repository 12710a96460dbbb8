"""A client for a provider, made from the variables that people set for it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ostler.config.settings import Provider
from ostler.errors import Code
from ostler.llm.client import DEFAULT_MODEL_MAP, ClaudeClient, ClaudeClientConfig
from ostler.llm.failure import ModelError


class Account(Struct, frozen=True):
    """The variables of a provider, and the models that have a name here."""

    keys: tuple[str, ...]  # the first that is set counts; those behind the first hold access tokens
    base_url: str
    environment: tuple[str, ...]
    models: dict[str, str] = {}


ACCOUNTS: dict[Provider, Account] = {
    "anthropic": Account(
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        base_url="ANTHROPIC_BASE_URL",
        environment=("ANTHROPIC_*",),
        models={"": DEFAULT_MODEL_MAP["sonnet"], **DEFAULT_MODEL_MAP},
    ),
    "openai": Account(keys=("OPENAI_API_KEY",), base_url="OPENAI_BASE_URL", environment=("OPENAI_*",)),
}


def connect(provider: Provider, env: Mapping[str, str], max_tokens: int) -> ClaudeClient:
    """A client for this provider; its code is loaded now. Raises ModelError without a usable key."""
    config = read_config(provider, env, max_tokens)
    if provider == "anthropic":
        from ostler.llm.anthropic import AnthropicClaudeClient  # noqa: PLC0415  (the SDK takes a second)

        return AnthropicClaudeClient(config)
    from ostler.llm.openai import OpenAIChatClient  # noqa: PLC0415

    return OpenAIChatClient(config)


def read_config(provider: Provider, env: Mapping[str, str], max_tokens: int) -> ClaudeClientConfig:
    """What the variables say about the account; without a key the config's is empty."""
    account = ACCOUNTS[provider]
    name = next((name for name in account.keys if env.get(name, "").strip()), account.keys[0])
    return ClaudeClientConfig(
        api_key=env.get(name, "").strip(),
        base_url=env.get(account.base_url, "").strip(),
        default_max_tokens=max_tokens,
        bearer=name != account.keys[0],
    )


def model_for(provider: Provider, model: str) -> str:
    """The provider's own name of a model; tiers and the default have one with anthropic."""
    found = ACCOUNTS[provider].models.get(model, model)
    if not found:
        raise ModelError(Code.MODEL_NOT_FOUND, f"no model is named, and {provider} has no default")
    return found
