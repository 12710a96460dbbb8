"""Codex in a sandbox: a provider of its own replaces that of the settings."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import cast

from ostler.executors.sandboxed.keys import BEARER, Headers, Key, ReadHeaders, fixed, read_file, select_keys
from ostler.executors.sandboxed.needs import PLACEHOLDER, Login, ModelAccess, Outside, SandboxNeeds
from ostler.sandbox.home.contents import HomeContents, HomeFile, Table
from ostler.sandbox.home.tables import find_part, merge
from ostler.sandbox.network.policy import ModelRoute

_API = "https://api.openai.com/v1"
_CHATGPT_API = "https://chatgpt.com/backend-api/codex"
_PATHS = ("/responses", "/responses/compact", "/chat/completions", "/models")
_KEYS = (Key("CODEX_API_KEY", "authorization", BEARER), Key("OPENAI_API_KEY", "authorization", BEARER))
_VARIABLE = "OPENAI_API_KEY"  # holds the placeholder
_PROVIDER = "ostler"
_BUILT_IN = "openai"
_FAR = 4102444800  # 2100
# Of a provider: what changes the requests, without addresses and keys.
_KEPT = (
    "name",
    "wire_api",
    "query_params",
    "request_max_retries",
    "stream_max_retries",
    "stream_idle_timeout_ms",
)
# Requests to other hosts that codex makes at its start.
_QUIET = {
    "check_for_update_on_startup": False,
    "analytics": {"enabled": False},
    "features": {"plugins": False, "apps": False},
}
# A renewal needs a call: this one has no tools and no files.
_REFRESH = ("exec", "--skip-git-repo-check", "-c", 'sandbox_mode="read-only"', "Answer with OK.")


def find_access(outside: Outside, url: str) -> ModelAccess | None:
    """Return the calls through the proxy, with the provider that the settings choose."""
    config = read_file(_find_home(outside) / "config.toml")
    name = _find_provider(config, outside.args)
    provider = _table(config, f"model_providers.{name}")
    if name != _BUILT_IN and not provider.get("base_url"):
        return None  # another built-in provider, such as a local server
    read_headers, login = _find_credentials(outside, provider)
    address = provider.get("base_url") or outside.env.get("OPENAI_BASE_URL") or config.get("openai_base_url")
    route = ModelRoute(
        upstream=str(address or (_CHATGPT_API if login else _API)),
        paths=_PATHS,
        read_headers=read_headers,
        wire="openai",
    )
    ours = {"name": "OpenAI"} | {key: provider[key] for key in _KEPT if key in provider} | {"base_url": url}
    ours |= {"requires_openai_auth": True} if login else {"env_key": _VARIABLE}
    return ModelAccess(
        route,
        env={} if login else {_VARIABLE: PLACEHOLDER},
        removed=("OPENAI_BASE_URL",),
        # The arguments of the user may choose another provider.
        arguments=("-c", f'model_provider="{_PROVIDER}"') if outside.args else (),
        settings={"model_provider": _PROVIDER, "model_providers": {_PROVIDER: ours}},
        files={".codex/auth.json": _hide_tokens()} if login else {},
        login=login,
    )


def _find_provider(config: Table, args: tuple[str, ...]) -> str:
    """Return the provider of the arguments, of the profile that they choose, or of the settings."""
    options = list(pairwise((*args, "")))
    for flag, value in reversed(options):
        if flag in ("-c", "--config") and value.startswith("model_provider="):
            return value.partition("=")[2].strip("\"' ")
    profile = next((value for flag, value in options if flag in ("-p", "--profile")), config.get("profile"))
    own = _table(config, f"profiles.{profile}").get("model_provider")
    return str(own or config.get("model_provider") or _BUILT_IN)


def _find_credentials(outside: Outside, provider: Table) -> tuple[ReadHeaders, Login | None]:
    """Return the headers of the key, and the login if codex uses one."""
    extra = _read_provider_headers(provider, outside.env)
    if token := provider.get("experimental_bearer_token"):
        return fixed({**extra, "authorization": f"{BEARER}{token}"}), None
    if variable := provider.get("env_key"):
        key = outside.env.get(str(variable))
        return fixed({**extra, "authorization": f"{BEARER}{key}"} if key else extra), None
    if provider and not provider.get("requires_openai_auth"):
        return fixed(extra), None
    return _find_own_credentials(outside, extra)


def _find_own_credentials(outside: Outside, extra: Headers) -> tuple[ReadHeaders, Login | None]:
    for key in select_keys(outside.env, _KEYS):
        return fixed({**extra, key.header: f"{key.prefix}{outside.env[key.variable]}"}), None
    path = _find_home(outside) / "auth.json"
    stored = read_file(path)
    if stored.get("OPENAI_API_KEY"):
        return fixed({**extra, "authorization": f"{BEARER}{stored['OPENAI_API_KEY']}"}), None
    if not _table(stored, "tokens").get("access_token"):
        return fixed(extra), None
    return partial(_read_tokens, path), Login(partial(_read_expiry, path), _REFRESH)


def _read_provider_headers(provider: Table, env: Mapping[str, str]) -> Headers:
    fixed_ones = {name.lower(): str(value) for name, value in _table(provider, "http_headers").items()}
    named = _table(provider, "env_http_headers").items()
    return fixed_ones | {
        name.lower(): env[str(variable)] for name, variable in named if env.get(str(variable))
    }


def _read_tokens(path: Path) -> Headers:
    """Return the headers of the user's login as it is now: the user's own codex may have renewed it."""
    tokens = _table(read_file(path), "tokens")
    found = {"authorization": f"{BEARER}{tokens.get('access_token', '')}"}
    account = tokens.get("account_id")
    return found | ({"chatgpt-account-id": str(account)} if account else {})


def _read_expiry(path: Path) -> float | None:
    """Return the end of the access token, which is a JSON Web Token."""
    parts = str(_table(read_file(path), "tokens").get("access_token", "")).split(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return float(claims["exp"])
    except (IndexError, KeyError, ValueError, TypeError):
        return None


def _hide_tokens() -> bytes:
    """Return a login whose tokens are none and do not expire."""
    claims = {"exp": _FAR, "https://api.openai.com/auth": {"chatgpt_account_id": PLACEHOLDER}}
    token = ".".join((_encode({"alg": "none"}), _encode(claims), PLACEHOLDER))
    tokens = {"id_token": token, "access_token": token, "refresh_token": "", "account_id": PLACEHOLDER}
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return json.dumps({"OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": now}).encode()


def _encode(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def contents(outside: Outside, access: ModelAccess | None) -> HomeContents:
    """Return the settings that are copied, and what is left out."""
    config = HomeFile(
        ".codex/config.toml",
        left_out=("mcp_servers", "notify", "hooks", "otel", "plugins", "marketplaces"),
        change=partial(_change_config, outside.cwd, access),
    )
    names = ("AGENTS.md", "AGENTS.override.md", "prompts", "skills", "rules", "hooks.json")
    left_out = tuple(f".codex/{name}" for name in names)
    return HomeContents((config,), left_out, {".codex": _find_home(outside)})


def _change_config(cwd: str, access: ModelAccess | None, config: Table) -> Table:
    """Return the settings with the provider of the proxy; only the directory of the task is trusted."""
    trusted = {"projects": {cwd: {"trust_level": "trusted"}}}
    if access is None:
        return {**config, **trusted}
    replaced = ("profile", "profiles", "model_providers", "projects")
    others = {name: value for name, value in config.items() if name not in replaced}
    return merge(merge(others, _QUIET), {**access.settings, **trusted})


def _find_home(outside: Outside) -> Path:
    return Path(outside.env.get("CODEX_HOME") or outside.home / ".codex")


def _table(table: Table, key: str) -> Table:
    found = find_part(table, key)
    return cast(Table, found) if isinstance(found, dict) else {}


NEEDS = SandboxNeeds(contents, find_access, removed=("CODEX_HOME",), logins=(".codex/auth.json",))
