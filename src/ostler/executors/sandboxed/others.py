"""Qwen, Copilot and Cursor in a sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from ostler.executors.sandboxed.keys import BEARER, Key, fixed, read_file, read_keys, read_variables
from ostler.executors.sandboxed.needs import (
    PLACEHOLDER,
    ModelAccess,
    Outside,
    SandboxNeeds,
    without_access,
)
from ostler.sandbox.home.contents import HomeContents, HomeFile, Table
from ostler.sandbox.home.tables import find_part, remove_part, set_part
from ostler.sandbox.network.policy import ModelRoute

_OPENAI_PATHS = ("/chat/completions", "/responses", "/embeddings", "/models")
_QWEN_AUTH = "security.auth"


def find_qwen_access(outside: Outside, url: str) -> ModelAccess | None:
    """Return the calls of an OpenAI-compatible API through the proxy; None for other logins."""
    env = {**read_variables(outside.home / ".qwen/.env"), **outside.env}
    settings = read_file(outside.home / ".qwen/settings.json")
    auth = cast(Table, find_part(settings, _QWEN_AUTH) or {})
    key, upstream = (
        env.get("OPENAI_API_KEY") or auth.get("apiKey"),
        env.get("OPENAI_BASE_URL") or auth.get("baseUrl"),
    )
    if not key or not upstream or settings.get("modelProviders"):
        return None
    route = ModelRoute(str(upstream), _OPENAI_PATHS, fixed({"authorization": f"{BEARER}{key}"}), "openai")
    return ModelAccess(route, {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": PLACEHOLDER})


def _qwen_contents(outside: Outside, access: ModelAccess | None) -> HomeContents:
    del outside
    change = _change_qwen_settings if access else None
    settings = HomeFile(".qwen/settings.json", left_out=("mcpServers", "hooks"), change=change)
    return HomeContents(
        (settings,), tuple(f".qwen/{n}" for n in ("QWEN.md", "extensions", "commands", "skills", "agents"))
    )


def _change_qwen_settings(settings: Table) -> Table:
    """Return the settings without keys, and with the kind of the login, so that qwen does not ask for it."""
    for key in ("apiKey", "baseUrl"):
        settings = remove_part(settings, f"{_QWEN_AUTH}.{key}")
    kind = f"{_QWEN_AUTH}.selectedType"
    return settings if find_part(settings, kind) else set_part(settings, kind, "openai")


_COPILOT = "COPILOT_PROVIDER_"
_COPILOT_HEADERS = {
    "openai": ("authorization", BEARER),
    "anthropic": ("x-api-key", ""),
    "azure": ("api-key", ""),
}


def find_copilot_access(outside: Outside, url: str) -> ModelAccess | None:
    """Return the calls of the user's own provider through the proxy; None for the models of GitHub."""
    env, variable = outside.env, f"{_COPILOT}BASE_URL"
    kind = env.get(f"{_COPILOT}TYPE") or "openai"
    if not env.get(variable) or kind not in _COPILOT_HEADERS:
        return None
    header, prefix = _COPILOT_HEADERS[kind]
    keys = (
        Key(f"{_COPILOT}API_KEY", header, prefix),
        Key(f"{_COPILOT}BEARER_TOKEN", "authorization", BEARER),
    )
    wire = "anthropic" if kind == "anthropic" else "openai"
    paths = ("/messages", "/v1/messages") if kind == "anthropic" else _OPENAI_PATHS
    route = ModelRoute(env[variable], paths, fixed(read_keys(env, keys)), wire)
    hidden = {key.variable: PLACEHOLDER for key in keys if env.get(key.variable)}
    return ModelAccess(route, {**hidden, variable: url})


def _copilot_contents(outside: Outside, access: ModelAccess | None) -> HomeContents:
    del access
    names = ("mcp-config.json", "copilot-instructions.md", "hooks", "agents", "skills", "plugins")
    moved = {".copilot": Path(outside.env["COPILOT_HOME"])} if outside.env.get("COPILOT_HOME") else {}
    return HomeContents((), tuple(f".copilot/{name}" for name in names), moved)


def _cursor_contents(outside: Outside, access: ModelAccess | None) -> HomeContents:
    del outside, access
    settings = HomeFile(".cursor/cli-config.json", left_out=("hooks",))
    names = ("mcp.json", "rules", "hooks.json", "commands", "skills")
    return HomeContents((settings,), tuple(f".cursor/{name}" for name in names))


QWEN_NEEDS = SandboxNeeds(_qwen_contents, find_qwen_access, logins=(".qwen/oauth_creds.json", ".qwen/.env"))
COPILOT_NEEDS = SandboxNeeds(
    _copilot_contents,
    find_copilot_access,
    removed=("COPILOT_HOME",),
    logins=(".copilot/config.json", ".copilot/settings.json"),
)
CURSOR_NEEDS = SandboxNeeds(_cursor_contents, without_access, logins=(".config/cursor/auth.json",))
