"""Attribute names of OpenTelemetry's GenAI conventions."""

from __future__ import annotations

from ostler.model.usage import Usage
from ostler.telemetry.span import Attributes

OPERATION = "gen_ai.operation.name"
AGENT = "gen_ai.agent.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
CONVERSATION = "gen_ai.conversation.id"
TOOL = "gen_ai.tool.name"
TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105  (the tokens of a model)
ERROR = "error.type"
ACCOUNT = "ostler.account"  # as on screens; values of keys are never part of it
WINDOW = "ostler.window"

_PROVIDERS = {"claude": "anthropic", "codex": "openai", "gemini": "gcp.gemini"}


def agent_attributes(executor: str, model: str, session: str) -> Attributes:
    """Return the attributes of an agent; empty ones are left out."""
    named = {
        OPERATION: "invoke_agent",
        AGENT: executor,
        PROVIDER: _PROVIDERS.get(executor, executor),
        REQUEST_MODEL: model,
        CONVERSATION: session,
    }
    return {name: value for name, value in named.items() if value}


def usage_attributes(usage: Usage) -> Attributes:
    """Return the attributes of token usage; the conventions count cached tokens as input."""
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
    }
