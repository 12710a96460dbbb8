"""Makes the client of a provider from its environment variables."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ostler.config.settings import Provider
from ostler.errors import Code
from ostler.llm.client import DEFAULT_MODEL_MAP, ClaudeClient, ClaudeClientConfig
from ostler.llm.failure import ModelError
from ostler.model.policy.model_config import DEFAULT_TIER


class ProviderAccount(Struct, frozen=True):
    """The variables of a provider, and the short names of its models."""

    keys: tuple[str, ...]  # the first that is set counts; all but the first hold access tokens
    base_url: str
    environment: tuple[str, ...]
    models: dict[str, str] = {}


ACCOUNTS: dict[Provider, ProviderAccount] = {
    "anthropic": ProviderAccount(
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        base_url="ANTHROPIC_BASE_URL",
        environment=("ANTHROPIC_*",),
        models={"": DEFAULT_MODEL_MAP[DEFAULT_TIER], **DEFAULT_MODEL_MAP},
    ),
    "openai": ProviderAccount(
        keys=("OPENAI_API_KEY",), base_url="OPENAI_BASE_URL", environment=("OPENAI_*",)
    ),
}


def connect(provider: Provider, env: Mapping[str, str], max_tokens: int) -> ClaudeClient:
    """Import the module of a provider and return its client; raise ModelError without a valid key."""
    config = read_config(provider, env, max_tokens)
    if provider == "anthropic":
        from ostler.llm.anthropic import AnthropicClaudeClient  # noqa: PLC0415  (the SDK takes a second to import)

        return AnthropicClaudeClient(config)
    from ostler.llm.openai import OpenAIChatClient  # noqa: PLC0415

    return OpenAIChatClient(config)


def read_config(provider: Provider, env: Mapping[str, str], max_tokens: int) -> ClaudeClientConfig:
    """Return the configuration from the variables; without a key api_key is empty."""
    account = ACCOUNTS[provider]
    name = next((name for name in account.keys if env.get(name, "").strip()), account.keys[0])
    return ClaudeClientConfig(
        api_key=env.get(name, "").strip(),
        base_url=env.get(account.base_url, "").strip(),
        default_max_tokens=max_tokens,
        bearer=name != account.keys[0],
    )


def resolve_model(provider: Provider, model: str) -> str:
    """Return the name of a model at the provider; anthropic has short names and a default."""
    found = ACCOUNTS[provider].models.get(model, model)
    if not found:
        raise ModelError(
            Code.MODEL_NOT_FOUND, f"no model is set, and {provider} has no default: set run.model or --model"
        )
    return found
