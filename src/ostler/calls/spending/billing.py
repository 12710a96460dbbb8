"""Detects how an attempt is billed: an API key, a subscription, or a proxy."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from ostler.model.attempt import Billing

_OFF = ("", "0", "false", "no")


class _Account(Struct, frozen=True):
    """The environment variables of an agent that determine how it is billed."""

    keys: tuple[str, ...] = ()  # one is set: billed per token
    tokens: tuple[str, ...] = ()  # one is set: billed by a subscription
    switches: tuple[str, ...] = ()  # one is on: billed per token by a cloud
    addresses: tuple[str, ...] = ()  # URLs of other endpoints
    hosts: tuple[str, ...] = ()  # of the provider, with their subdomains
    otherwise: Billing = "subscription"  # if none is set: the agent uses its own login


_ANTHROPIC = ("anthropic.com", "claude.ai", "claude.com")
_OPENAI = ("openai.com", "chatgpt.com")
_GOOGLE = ("googleapis.com",)

_ACCOUNTS: dict[str, _Account] = {
    "claude": _Account(
        keys=("ANTHROPIC_API_KEY",),
        tokens=("CLAUDE_CODE_OAUTH_TOKEN",),
        switches=("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
        addresses=("ANTHROPIC_BASE_URL",),
        hosts=_ANTHROPIC,
    ),
    "codex": _Account(
        keys=("CODEX_API_KEY", "OPENAI_API_KEY"),
        tokens=("CODEX_ACCESS_TOKEN",),
        addresses=("OPENAI_BASE_URL",),
        hosts=_OPENAI,
    ),
    "gemini": _Account(
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        switches=("GOOGLE_GENAI_USE_VERTEXAI",),
        addresses=("GOOGLE_GEMINI_BASE_URL", "CODE_ASSIST_ENDPOINT"),
        hosts=_GOOGLE,
    ),
    "qwen": _Account(
        keys=("OPENAI_API_KEY", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY"),
        addresses=("OPENAI_BASE_URL",),
        hosts=(*_OPENAI, "aliyuncs.com", "qwen.ai"),
    ),
    "copilot": _Account(
        keys=("COPILOT_PROVIDER_API_KEY",),
        addresses=("COPILOT_PROVIDER_BASE_URL",),
        hosts=(*_OPENAI, *_ANTHROPIC, "githubcopilot.com", "github.com"),
    ),
    "cursor": _Account(),  # its key belongs to a subscription, too
    "opencode": _Account(
        keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
        otherwise="unknown",  # its login file may hold either
    ),
    "model_api": _Account(
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"),
        addresses=("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"),
        hosts=(*_ANTHROPIC, *_OPENAI),
        otherwise="unknown",
    ),
}


def detect_billing(kind: str, env: Mapping[str, str], reported: Billing | None = None) -> Billing:
    """Return how an agent of this kind is billed: by its environment, or as it reported it itself.

    An agent reports which key it uses, but not the address or the cloud that it calls.
    """
    account = _ACCOUNTS.get(kind.removesuffix("-acp"))
    if account is None:
        return "unknown"
    if any(_is_other_host(env.get(name, ""), account.hosts) for name in account.addresses):
        return "proxy"
    if any(env.get(name, "").lower() not in _OFF for name in account.switches):
        return "api"
    if reported is not None:
        return reported
    if any(env.get(name) for name in account.keys):
        return "api"
    return "subscription" if any(env.get(name) for name in account.tokens) else account.otherwise


def _is_other_host(address: str, hosts: tuple[str, ...]) -> bool:
    if not address.strip():
        return False
    try:
        host = urlsplit(address.strip()).hostname or ""
    except ValueError:
        # An invalid URL is not the provider's.
        host = ""
    return not any(host == own or host.endswith(f".{own}") for own in hosts)
