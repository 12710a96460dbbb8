"""Who pays for an attempt: a key by the token, a subscription by the month, or whoever runs a proxy."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from ostler.model.attempt import Billing

_OFF = ("", "0", "false", "no")


class _Account(Struct, frozen=True):
    """Which variables of a child say how its agent pays."""

    keys: tuple[str, ...] = ()  # one of them: by the token
    tokens: tuple[str, ...] = ()  # one of them: by a subscription
    switches: tuple[str, ...] = ()  # switched on: a cloud's own bill, by the token
    addresses: tuple[str, ...] = ()  # where the model is asked instead
    hosts: tuple[str, ...] = ()  # the provider's own, and those below them
    otherwise: Billing = "subscription"  # with none of these it uses the login that it keeps


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
    "cursor": _Account(),  # its key belongs to a plan, too
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


def billing_of(kind: str, env: Mapping[str, str]) -> Billing:
    """How an agent of this kind pays, as far as the variables of its child say so."""
    account = _ACCOUNTS.get(kind.removesuffix("-acp"))
    if account is None:
        return "unknown"
    if any(_is_elsewhere(env.get(name, ""), account.hosts) for name in account.addresses):
        return "proxy"
    if any(env.get(name, "").lower() not in _OFF for name in account.switches):
        return "api"
    if any(env.get(name) for name in account.keys):
        return "api"
    return "subscription" if any(env.get(name) for name in account.tokens) else account.otherwise


def _is_elsewhere(address: str, hosts: tuple[str, ...]) -> bool:
    if not address.strip():
        return False
    try:
        host = urlsplit(address.strip()).hostname or ""
    except ValueError:  # an address that is none is not the provider's own
        host = ""
    return not any(host == own or host.endswith(f".{own}") for own in hosts)
